"""
Every code block of the documentation is run by a test or has a reason for not being run.

A test takes the text from the page (tests/support/documented.py), so a changed block is run in its
new form.
"""

import ast
from functools import cache

import pytest

from tests.support.documented import ROOT, Block, all_blocks

# console: commands after `$ ` and their output. sh: commands to copy. pycon: Python with `>>> `.
# text: a diagram, or the output of a program.
LANGUAGES = {"console", "json", "mermaid", "pycon", "python", "sh", "text", "toml"}

CODE = "tests/test_docs_code.py"
INTERFACES = "tests/test_docs_interfaces.py"
SHELL = "tests/integration/test_docs_shell.py"
DEMO = "tests/system/test_demo_crawl.py"
PRODUCERS = "tests/system/test_cli_docs.py"
EXPORTS = "tests/integration/urlstore/test_exports_page.py"
SPIDERS = "tests/system/test_scrapy_spiders.py"
KAFKA = "tests/integration/kafka/test_kafka_page.py::test_commands_and_records_match_the_page"
QUOTAS = "tests/integration/serving/test_token_quotas.py::test_refusal_and_settings_match_the_page"
TABLE = "tests/integration/table/test_table_page.py::test_documented_commands_build_update_and_read_a_table"
PAGE_OBJECTS = (
    "tests/integration/poet/test_page_objects.py::test_page_object_reads_authors_from_the_store"
)
PRICES = "tests/system/test_prices_tutorial.py::test_week_of_prices_answers_the_question"
OWN_SITE = "tests/system/test_own_site_tutorial.py::test_tutorial_crawl_ends_as_documented"
ZEN = "tests/integration/serving/test_application_graphs.py"
ITEMS, ITEMS_PAGE = "tests/system/test_items.py", "tests/unit/pages/test_items_page.py"
ITEM_FILES = (
    "tests/system/test_item_files.py::test_run_stores_the_files_of_its_items_and_counts_them"
)
OWN_FIELDS = "tests/system/test_own_fields.py"
NEW = "tests/system/test_new.py"
PINLATER = "packages/pinlater/tests/test_readme.py"

# Page, or `page#section`, and block, as `language: the beginning of its first line`, with the test
# that runs it; a language alone means all its blocks. A section takes precedence over a page,
# and the longest name counts.
RUN_BY = {
    ("README.md", "console"): f"{DEMO}::test_commands_of_a_page_print_what_it_shows",
    ("README.md", "python"): f"{PRODUCERS}::test_readme_example_enqueues_from_code",
    ("docs/store.md#content-in-packs", "sh"): (
        "tests/integration/urlstore/test_packs_cli.py"
        "::test_documented_commands_move_objects_and_show_an_earlier_version"
    ),
    ("README.md", "sh: export"): f"{DEMO}::test_documented_commands_crawl_a_list_of_urls",
    ("README.md", "sh: make setup"): f"{NEW}::test_commands_of_the_readme_make_its_table",
    ("README.md", "toml"): f"{NEW}::test_commands_of_the_readme_make_its_table",
    ("README.md", "text: title"): f"{NEW}::test_commands_of_the_readme_make_its_table",
    # Its second line, `make test`, runs this test.
    ("README.md", "sh: make run"): (
        "tests/system/test_run_on_a_terminal.py"
        "::test_demo_shows_a_bar_and_a_card_and_stays_until_ctrl_c"
    ),
    ("docs/architecture.md", "text:  producers"): (
        "tests/test_docs.py::test_system_diagram_has_every_queue_and_worker"
    ),
    ("docs/architecture.md", "text:  PENDING"): (
        "tests/test_docs.py::test_job_diagram_has_every_state"
    ),
    ("docs/urls.md#canonical-urls", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/refresh.md#the-change-feed", "console"): f"{SHELL}::test_changes_and_webhooks_print_what_the_page_shows",
    ("docs/refresh.md#the-change-feed", "json"): f"{SHELL}::test_change_matches_the_page",
    ("docs/refresh.md#the-change-feed", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/cli.md", "console"): f"{DEMO}::test_commands_of_a_page_print_what_it_shows",
    ("docs/cli.md", "console: $ aragog up -d"): (
        "tests/system/test_standalone_lifecycle.py::test_down_in_the_middle_and_up_again_continue_and_print_what_the_page_shows"
    ),
    ("docs/cli.md", "sh: eval"): f"{SHELL}::test_shell_completes_commands",
    ("docs/crawls.md", "console"): f"{SHELL}::test_commands_of_a_page_print_what_it_shows",
    ("docs/crawls.md", "json"): (
        "tests/integration/pipeline/test_crawl_notices.py"
        "::test_notice_has_the_documented_members"
    ),
    ("docs/crawls.md", 'json: {"type"'): QUOTAS,
    ("docs/crawls.md", "toml"): QUOTAS,
    ("docs/client.md#the-python-client", "python"): (
        "tests/integration/serving/test_client.py"
        "::test_documented_example_does_what_it_says"
    ),
    ("docs/deployment.md", "sh: pip install dist/*.whl"): (
        "tests/system/test_wheel.py::test_documented_pip_command_installs_it_with_its_libraries"
    ),
    ("docs/deployment.md", "sh: helm"): (
        "tests/unit/deploy/test_chart.py::test_documented_command_gives_the_manifests"
    ),
    ("docs/deployment.md", "sh: install -m 0644 deploy/systemd"): (
        "tests/unit/deploy/test_files.py::test_documented_commands_create_what_the_units_expect"
    ),
    ("docs/deployment.md", "sh: pg_dump"): (
        "tests/integration/postgres/test_postgres_backup.py::test_dump_made_while_pages_are_written_is_restored"
    ),
    ("docs/deployment.md", "sh: aws s3 sync s3://pages-backup"): (
        "tests/integration/postgres/test_postgres_backup.py::test_dump_made_while_pages_are_written_is_restored"
    ),
    ("docs/deployment.md", "sh"): (
        "tests/integration/urlstore/test_backup.py"
        "::test_copy_of_a_running_system_replaces_a_lost_one"
    ),
    ("docs/exports.md", "json"): f"{EXPORTS}::test_json_line_matches_the_page",
    ("docs/exports.md", "python"): f"{EXPORTS}::test_duckdb_and_pandas_read_exports",
    ("docs/exports.md", "sh: aragog store export /data/crawl"): f"{EXPORTS}::test_documented_commands_export_archives",
    ("docs/exports.md", "sh: aragog store export-parts"): (
        f"{EXPORTS}::test_each_day_has_a_folder_with_the_pages_fetched_on_it"
    ),
    ("docs/exports.md", "sh: aragog store export /data/urls"): f"{EXPORTS}::test_duckdb_and_pandas_read_exports",
    ("docs/coming-from.md#scrapy", "python"): f"{SPIDERS}::test_two_spiders_on_three_processes_share_pages_and_the_rate",
    ("docs/coming-from.md#scrapy", "sh: scrapy crawl quotes -s"): (
        "tests/system/test_scrapy_stored_pages.py::test_documented_commands_read_stored_pages"
    ),
    ("docs/coming-from.md#nutch", "sh"): (
        "tests/integration/urlstore/test_foreign_imports.py::test_documented_commands_import_files"
    ),
    ("docs/exports.md#a-table-that-stays-current", "python"): TABLE,
    ("docs/exports.md#a-table-that-stays-current", "sh"): TABLE,
    ("docs/exports.md#a-table-that-stays-current", "toml"): TABLE,
    ("docs/coming-from.md#scrapy", "python: from web_poet"): PAGE_OBJECTS,
    ("docs/coming-from.md#scrapy", "sh: pip install 'aragog-crawler[poet]'"): PAGE_OBJECTS,
    ("docs/coming-from.md#scrapy", "python: from scrapy_deltafetch"): (
        "tests/system/test_scrapy_packages.py"
        "::test_scrapy_deltafetch_works_with_the_documented_lines"
    ),
    ("docs/refresh.md#kafka", "console"): KAFKA,
    ("docs/refresh.md#kafka", "json"): KAFKA,
    ("docs/http.md#tools-for-language-models", "json"): (
        "tests/integration/serving/test_mcp.py"
        "::test_official_client_reads_searches_and_fetches_over_stdio"
    ),
    ("docs/tutorial.md#the-prices-of-three-shops-over-a-week", "python"): PRICES,
    ("docs/tutorial.md#the-prices-of-three-shops-over-a-week", "sh"): PRICES,
    ("docs/tutorial.md#the-prices-of-three-shops-over-a-week", "text"): PRICES,
    ("docs/tutorial.md#the-prices-of-three-shops-over-a-week", "toml"): PRICES,
    ("docs/own-fields.md#items", 'toml: [extract."shop.example".cards]'): f"{ITEMS}::test_listings_give_one_row_per_product",
    ("docs/own-fields.md#items", "sh"): f"{ITEMS}::test_listings_give_one_row_per_product",
    ("docs/own-fields.md#items", 'toml: [extract."shop.example".lamps]'): ITEM_FILES,
    ("docs/own-fields.md#items", "sh: aragog run urls.txt --stop -O lamps"): ITEM_FILES,
    ("docs/own-fields.md#items", "json"): ITEM_FILES,
    ("docs/own-fields.md#items", 'toml: [extract."shop.example".lists]'): (
        f"{ITEMS_PAGE}::test_example_of_a_value_from_the_list_page_works"
    ),
    ("docs/own-fields.md#items", "toml"): f"{ITEMS_PAGE}::test_examples_of_a_class_and_a_function_work",
    ("docs/own-fields.md#items", "python: from dataclasses"): (
        f"{ITEMS_PAGE}::test_examples_of_a_class_and_a_function_work"
    ),
    ("docs/own-fields.md#items", "python: from aragog.client"): (
        "tests/integration/serving/test_items_served.py::test_documented_example_prints_the_items"
    ),
    ("docs/own-fields.md#fields-of-pages", "toml"): f"{OWN_FIELDS}::test_run_writes_chosen_fields_and_keeps_the_login_to_its_site",
    ("docs/own-fields.md#fields-of-pages", "sh: aragog run"): f"{OWN_FIELDS}::test_run_writes_chosen_fields_and_keeps_the_login_to_its_site",
    ("docs/own-fields.md#fields-of-pages", "sh: aragog try"): (
        f"{OWN_FIELDS}::test_try_reads_a_page_with_a_function_from_a_file"
    ),
    ("docs/own-fields.md#fields-of-pages", "python"): (
        f"{OWN_FIELDS}::test_try_reads_a_page_with_a_function_from_a_file"
    ),
    ("docs/extending.md", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/extending.md", 'toml: [project.entry-points."aragog.extractors'): (
        f"{CODE}::test_extractor_example_works"
    ),
    ("docs/extending.md", "python: from aragog.pages.extractors"): (
        f"{CODE}::test_extractor_example_works"
    ),
    ("docs/extending.md", 'toml: [project.entry-points."aragog.text_finders'): (
        f"{CODE}::test_text_finder_example_works"
    ),
    ("docs/extending.md", "python: from richpins.document"): (
        f"{CODE}::test_text_finder_example_works"
    ),
    ("docs/extending.md", "python: from celery"): (
        f"{CODE}::test_task_example_prints_a_stored_page"
    ),
    ("docs/extending.md", "python: import pytest"): f"{CODE}::test_custom_engine_example_is_tested",
    ("docs/extraction.md", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/fetching.md", "python"): f"{CODE}::test_fetcher_example_works",
    ("docs/extraction.md#stored-fields-of-a-rich-pin", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/deployment.md#hbase", "sh: aragog store create-tables"): (
        "tests/integration/hbase/test_hbase_tables.py"
        "::test_documented_commands_create_the_tables"
    ),
    ("docs/http.md", "console"): f"{DEMO}::test_commands_of_a_page_print_what_it_shows",
    ("docs/http.md", 'json: {"at"'): f"{INTERFACES}::test_access_log_line_matches_the_page",
    ("docs/http.md", 'json: {"batch"'): (
        f"{INTERFACES}::test_progress_on_the_http_page_has_the_members_of_its_schemas"
    ),
    ("docs/http.md", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/deployment.md", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/performance.md", "mermaid"): (
        "tests/test_docs_figures.py"
        "::test_chart_of_page_costs_matches_the_table"
    ),
    ("docs/politeness.md#rates", "console"): f"{DEMO}::test_commands_of_a_page_print_what_it_shows",
    ("docs/politeness.md", "text"): (
        "tests/test_docs.py::test_limiter_diagram_uses_existing_names"
    ),
    ("docs/politeness.md", "toml"): (
        "tests/unit/crawl/politeness/test_overrides.py::test_example_in_the_documentation_is_valid"
    ),
    ("docs/client.md#enqueue-urls", "pycon"): (
        f"{PRODUCERS}::test_producer_session_matches_its_documented_output"
    ),
    ("docs/client.md#enqueue-urls", "python"): (
        f"{PRODUCERS}::test_producer_example_sends_tasks_from_its_own_app"
    ),
    ("docs/client.md#enqueue-urls", "sh"): (
        f"{PRODUCERS}::test_producer_example_enqueues_from_the_shell"
    ),
    ("docs/fetching.md#pages-that-need-javascript", "sh: #!/bin/sh"): (
        "tests/integration/rendering/test_renderer.py"
        "::test_documented_script_cuts_off_the_network_in_the_kernel"
    ),
    ("docs/fetching.md#egress-routes", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/fetching.md#sign-in", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/fetching.md#pages-that-need-javascript", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/operations.md#traces", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/politeness.md#robotstxt", "console"): f"{SHELL}::test_commands_of_a_page_print_what_it_shows",
    ("docs/politeness.md#robotstxt", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/politeness.md#robotstxt", "sh"): (
        "tests/integration/pipeline/test_task_messages.py"
        "::test_fresh_rules_of_an_origin_can_be_refetched"
    ),
    ("docs/deployment.md#page-content-in-s3", "sh: make s3"): (
        "tests/integration/s3/test_s3_server.py::test_settings_printed_by_make_s3_work"
    ),
    ("docs/store.md#pages-with-the-same-content", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/store.md#pages-with-the-same-content", "sh"): (
        "tests/integration/urlstore/test_same_content_cli.py::test_documented_commands_list_pages"
    ),
    ("docs/security.md#the-ssrf-filter", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/standing.md", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/standing.md", "text"): (
        "tests/unit/crawl/politeness/test_robots_rules_usage.py::"
        "test_reason_in_the_documentation_is_the_one_returned"
    ),
    ("docs/security.md#the-ssrf-filter", "toml"): f"{CODE}::test_settings_are_accepted",
    ("docs/performance.md#scale", "console"): f"{SHELL}::test_commands_of_a_page_print_what_it_shows",
    ("docs/store.md", "console"): f"{SHELL}::test_store_page_exports_and_imports",
    ("docs/store.md", "python"): (
        "tests/test_docs_store.py"
        "::test_store_page_example_prints_what_it_shows"
    ),
    ("docs/store.md", "sh"): f"{SHELL}::test_store_page_exports_in_parts",
    ("docs/store.md", "text"): (
        "tests/test_docs_store.py"
        "::test_store_page_example_prints_what_it_shows"
    ),
    ("docs/thrift.md", "json"): f"{INTERFACES}::test_access_log_line_matches_the_page",
    ("docs/thrift.md", "python"): (
        "tests/integration/serving/test_thrift_calls.py"
        "::test_documented_example_does_what_it_says"
    ),
    ("docs/thrift.md", "sh"): (
        "tests/integration/serving/test_thrift_calls.py"
        "::test_documented_example_does_what_it_says"
    ),
    ("docs/tutorial.md#from-nothing-to-a-pages-metadata", "console"): f"{DEMO}::test_commands_of_a_page_print_what_it_shows",
    ("docs/tutorial.md#from-nothing-to-a-pages-metadata", "sh: export"): f"{DEMO}::test_documented_commands_crawl_a_list_of_urls",
    ("docs/tutorial.md#from-nothing-to-a-pages-metadata", "sh: make run"): (
        "tests/system/test_run_on_a_terminal.py"
        "::test_demo_shows_a_bar_and_a_card_and_stays_until_ctrl_c"
    ),
    ("docs/tutorial.md#a-crawl-of-your-own-site", "console"): OWN_SITE,
    ("docs/tutorial.md#a-crawl-of-your-own-site", "sh"): OWN_SITE,
    ("docs/tutorial.md#a-crawl-of-your-own-site", "toml"): OWN_SITE,
    ("docs/urls.md#normalized-urls", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("docs/urls.md#normalized-urls", "toml"): (
        "tests/test_docs_urls.py::test_example_of_a_site_file_is_valid"
    ),
    ("docs/extending.md#your-own-graphs", "console"): f"{ZEN}::test_documented_commands_and_program_print_what_is_shown",
    ("docs/extending.md#your-own-graphs", "json"): f"{ZEN}::test_documented_commands_and_program_print_what_is_shown",
    ("docs/extending.md#your-own-graphs", "python"): f"{ZEN}::test_documented_commands_and_program_print_what_is_shown",
    ("docs/extending.md#your-own-graphs", "sh"): f"{ZEN}::test_documented_command_creates_a_token_for_a_graph",
    ("docs/extending.md#your-own-graphs", "text"): f"{ZEN}::test_documented_commands_and_program_print_what_is_shown",
    ("docs/extending.md#your-own-graphs", "toml"): f"{ZEN}::test_documented_commands_and_program_print_what_is_shown",
    ("examples/README.md", "console"): f"{PRODUCERS}::test_examples_match_their_documented_output",
    ("packages/pinlater/README.md", "pycon"): f"{PINLATER}::test_readme_examples_work",
    ("packages/pinlater/README.md", "python"): f"{PINLATER}::test_readme_examples_work",
    ("packages/pinlater/README.md", "sh: pip"): (
        "tests/system/test_pinlater_wheel.py::test_pip_installs_it_as_in_the_readme"
    ),
    ("packages/pinlater/README.md", "text: pinlater://"): (
        f"{PINLATER}::test_every_form_of_url_is_accepted"
    ),
    ("packages/pinlater/README.md", "toml"): f"{PINLATER}::test_readme_examples_work",
    ("packages/richpins/README.md", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("packages/urlspelling/README.md", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("packages/zengraph/README.md", "pycon"): f"{CODE}::test_page_prints_what_it_shows",
    ("packages/zengraph/README.md", "python"): (
        "packages/zengraph/tests/test_readme.py::test_engine_contract_example_of_the_readme_works"
    ),
}  # fmt: skip

MEASURES = (
    "measures for minutes; test_measurements_accept_the_documented_arguments parses its options"
)
NOT_RUN = {
    ("README.md", "text"): "a drawing without names of the code",
    ("docs/deployment.md", "sh: pip install cython"): (
        "downloads and compiles reppy; scripts/setup does the same for the environment of the tests"
    ),
    ("docs/coming-from.md#scrapy", "sh"): (
        "downloads aragog; tests/system/test_scrapy_spiders.py runs spiders in several processes"
    ),
    ("docs/refresh.md#kafka", "sh: pip"): (
        "installs packages; tests/integration/kafka needs and uses them"
    ),
    ("docs/deployment.md#hbase", "sh: make hbase"): (
        "starts a second HBase (9 s, 1 GB); the tests run the same server, deploy/hbase/server.py"
    ),
    ("docs/performance.md", "sh"): MEASURES,
    ("docs/reliability.md", "sh: make chaos"): (
        "runs for 20 minutes; tests/system/test_chaos.py runs a part of it"
    ),
    ("docs/fetching.md#pages-that-need-javascript", "sh"): (
        "installs packages; tests/integration/pipeline/test_rendering.py needs and uses them"
    ),
    ("docs/performance.md#scale", "sh"): MEASURES,
    (
        "docs/operations.md#traces",
        "sh",
    ): "installs packages; tests/system/test_traces.py needs and uses them",
    ("packages/richpins/README.md", "sh"): "installs the wheel; `make libraries` tests it",
    ("packages/urlspelling/README.md", "sh"): "installs the wheel; `make libraries` tests it",
    ("packages/zengraph/README.md", "sh"): "installs the wheel; `make libraries` tests it",
}

BLOCKS = all_blocks()


def row_of(block: Block) -> tuple[str, str] | None:
    """The key of the block's row in the two tables."""
    fitting = [
        key for key in (*RUN_BY, *NOT_RUN) if block.is_of(key[0]) and block.name.startswith(key[1])
    ]
    return max(fitting, key=lambda key: ("#" in key[0], len(key[1])), default=None)


@cache
def functions(path: str) -> set[str]:
    """The names of the functions in a file."""
    nodes = ast.parse((ROOT / path).read_text()).body
    return {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def test_every_block_names_its_language():
    """Indented blocks do not name one."""
    assert [f"{b.page}:{b.line}" for b in BLOCKS if b.language not in LANGUAGES] == []


def test_every_block_is_run_or_has_a_reason():
    assert [f"{b.page}:{b.line} {b.name}" for b in BLOCKS if row_of(b) is None] == []


def test_every_row_belongs_to_a_block():
    assert {*RUN_BY, *NOT_RUN} - {row_of(block) for block in BLOCKS} == set()
    assert RUN_BY.keys() & NOT_RUN.keys() == set()


@pytest.mark.parametrize(("row", "test"), RUN_BY.items(), ids=lambda part: str(part)[:60])
def test_named_test_exists_and_reads_the_page(row, test):
    path, _, name = test.partition("::")
    source = (ROOT / path).read_text()
    page = row[0].rpartition("/")[2].partition("#")[0]
    language = row[1].partition(":")[0]

    assert name in functions(path)
    assert page in source or f'pages_with("{language}")' in source
