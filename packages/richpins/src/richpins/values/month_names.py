"""
Recognize the names of months in European languages and Indonesian.

Names that mean different months in different languages are omitted: `listopad` is October in
Croatian and November in Czech, and `lip` is June or July; `local_dates` reads them if the page's
language is known. Only `listopada` is kept, as November in Polish.
"""

from __future__ import annotations

_NAMES_BY_MONTH = (
    (
        "jan january januar jänner januari janvier janv januarie ianuarie ian januára "
        "januarja janeiro enero ene gener gennaio gen stycznia styczeń ledna leden január siječnja "
        "siječanj tammikuuta tammikuu jaanuar janvāris janvārī sausio ocak oca janúar "
        "ιανουαρίου ιαν января январь янв січня януари јануар"
    ),
    (
        "feb february februar feber februari février fevrier févr fév februarie februára "
        "februarja fevereiro fev febrero febrer febbraio "
        "lutego luty února unora únor február veljače "
        "veljača helmikuuta helmikuu veebruar februāris februārī vasario şubat subat şub febrúar "
        "φεβρουαρίου φεβ февраля февраль фев лютого февруари фебруар"
    ),
    (
        "mar march mars marz märz mrz mär marzo março marco març maart mrt marts marca marzec "
        "martie marec března brezna březen március marcius márc ožujka ožujak maaliskuuta "
        "maaliskuu märts kovo mart maret μαρτίου μαρ марта март мар березня"
    ),
    (
        "apr april avril avr abril abr aprile kwietnia kwiecień aprilie apríla aprila dubna duben "
        "április travnja travanj huhtikuuta huhtikuu aprill aprīlis aprīlī balandžio nisan "
        "απριλίου απρ апреля апрель апр квітня април"
    ),
    (
        "may mai mayo mag maggio maio maig mei maj maja mája května kvetna květen május majus "
        "svibnja svibanj toukokuuta toukokuu maijs maijā gegužės mayıs maí "
        "μαΐου μαϊου μάιος мая май травня мај"
    ),
    (
        "jun june juni juin junio giugno giu junho juny iunie júna junija czerwca czerwiec "
        "června cervna červen június lipnja lipanj kesäkuuta kesäkuu juuni jūnijs jūnijā birželio "
        "haziran haz júní ιουνίου ιουν июня июнь июн червня юни јун"
    ),
    (
        "jul july juli juillet juil julio luglio lug julho juliol iulie júla julija lipca lipiec "
        "července cervence červenec július srpnja srpanj heinäkuuta heinäkuu juuli jūlijs jūlijā "
        "liepos temmuz tem júlí ιουλίου ιουλ июля июль июл липня юли јул"
    ),
    (
        "aug august août aout agosto ago agost augustus augusti augusta avgusta sierpnia sierpień "
        "srpna srpen augusztus kolovoza kolovoz elokuuta elokuu augusts augustā rugpjūčio "
        "ağustos agustos agustus ágúst αυγούστου αυγ августа август авг серпня"
    ),
    (
        "sep sept september septembre septiembre settembre set setembro setembre septembrie "
        "septembra września wrzesień září zari szeptember "
        "rujna rujan syyskuuta syyskuu septembris septembrī "
        "rugsėjo eylül eylul σεπτεμβρίου σεπ σεπτ сентября сентябрь сен сент вересня септември "
        "септембар"
    ),
    (
        "oct october okt oktober octobre octubre ottobre ott outubro out octombrie októbra oktobra "
        "października październik října rijna říjen október lokakuuta lokakuu oktoober oktobris "
        "oktobrī spalio ekim οκτωβρίου οκτ октября октябрь окт жовтня октомври октобар"
    ),
    (
        "nov november novembre noviembre novembro noiembrie novembra listopada listopadu "
        "studenoga studenog studeni marraskuuta marraskuu novembris novembrī lapkričio kasım kasim "
        "nóvember νοεμβρίου νοε ноября ноябрь ноя нояб листопада ноември новембар"
    ),
    (
        "dec december dez dezember décembre déc decembre diciembre dic dicembre dezembro desembre "
        "decembrie decembra desember grudnia grudzień prosince prosinec prosinca prosinac "
        "joulukuuta joulukuu detsember decembris decembrī gruodžio aralık aralik "
        "δεκεμβρίου δεκ декабря декабрь дек грудня декември децембар"
    ),
)
MONTHS = {name: number for number, names in enumerate(_NAMES_BY_MONTH, 1) for name in names.split()}


def month_number(name: str) -> int | None:
    """Return 1 to 12 for a name or abbreviation, or None. Ignores upper and lower case."""
    return MONTHS.get(name.lower().rstrip("."))
