"""Lua scripts called with named keys and arguments."""

import pytest

from pinlater.redis.scripts import LuaScript, load_script

pytestmark = pytest.mark.redis

JOIN = LuaScript(
    "join",
    "-- join: keys and arguments in their order.\n--\n"
    "-- keys: first others...\n-- args: separator words...\n"
    "local all = {}\n"
    "for _, key in ipairs(KEYS) do all[#all + 1] = key end\n"
    "for n = 2, #ARGV do all[#all + 1] = ARGV[n] end\n"
    "return table.concat(all, ARGV[1])\n",
)


def test_arguments_reach_the_script_by_name_in_any_order(redis_client):
    joined = JOIN.run(redis_client, words=["x", "y"], separator="-", others=["b", "c"], first="a")

    assert joined == b"a-b-c-x-y"


def test_source_is_sent_to_a_server_that_lost_its_scripts(redis_client):
    for _ in range(2):
        redis_client.script_flush()
        assert JOIN.run(redis_client, first="a", others=[], separator="-", words=[]) == b"a"


def test_script_runs_in_a_pipeline_on_a_server_that_lacks_it(redis_client):
    redis_client.script_flush()
    with redis_client.pipeline(transaction=False) as pipe:
        pipe.set("k", 1)
        JOIN.queue(pipe, first="a", others=["b"], separator="-", words=[])
        assert pipe.execute()[1] == b"a-b"


@pytest.mark.parametrize(
    "values",
    [
        {"first": "a", "others": [], "separator": "-"},
        {"first": "a", "others": [], "separator": "-", "wrods": []},
        {"first": "a", "others": [], "separator": "-", "words": [], "more": 1},
    ],
)
def test_missing_or_unknown_argument_is_refused(values):
    with pytest.raises(TypeError, match=r"join\.lua"):
        JOIN.bind(values)


def test_script_file_is_read_once():
    assert load_script("pinlater", "claim") is load_script("pinlater", "claim")
