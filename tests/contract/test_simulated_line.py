"""The simulated line serves requests in the same order as the scripts."""

from hypothesis import given
from hypothesis import strategies as st

from aragog.crawl.politeness.lines import USUAL_COST, LineEntry, Lines
from bench.simulate.shares import SharedLine
from tests.support.examples import examples

shares = st.integers(2, 5)
steps = st.lists(
    st.one_of(
        st.lists(st.tuples(shares, st.integers(0, 9)), min_size=1, max_size=8),
        st.integers(1, 6),
    ),
    min_size=2,
    max_size=25,
)


@examples(60)
@given(st.dictionaries(shares, st.sampled_from([USUAL_COST // 4, USUAL_COST * 3])), steps)
def test_both_lines_serve_the_same_requests(redis_client, costs, history):
    redis_client.flushdb()
    lines, simulated = Lines(redis_client, prefix="t:"), SharedLine(costs)
    (server,) = lines.servers
    number = 0
    for step in history:
        if isinstance(step, list):
            for share, priority in step:
                number += 1
                lines.park([LineEntry("a.com", priority, b"%d" % number, share=share)])
                simulated.push(share, priority, number)
            continue
        for _ in range(min(step, len(simulated))):
            token, taken = server.take({"a.com": 1}, {"a.com": costs})
            server.settle(token, [], {"a.com": 0})
            assert [int(entry.payload) for entry in taken] == [simulated.pop()]
