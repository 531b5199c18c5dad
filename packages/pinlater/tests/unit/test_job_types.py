import pytest
from celery import Celery

from pinlater import doors
from pinlater.errors import InvalidConfig, InvalidMessage
from pinlater.job_types import JobType, JobTypes, bind_by_name


def types_of(tmp_path, text, **more):
    path = tmp_path / "jobs.toml"
    path.write_text(text)
    return JobTypes.from_toml(Celery("t", set_as_current=False), path, **more)


def test_section_may_set_every_retry_option(tmp_path):
    jobs = types_of(
        tmp_path,
        """
        [mail]
        queue = "mail"
        retry = "pinlater"
        retry_step_s = 0.5
        retry_growth = 3
        retry_cap_s = 60
        max_age_s = 3600
        rate_per_s = 9
        doors = ["http", "thrift"]
        """,
    )

    assert jobs.settings("") == {
        "mail": {
            "doors": 3, "max_attempts": 11, "linear_attempts": 5, "retry_step_ms": 500,
            "retry_growth": 3, "retry_cap_ms": 60_000, "max_age_ms": 3_600_000, "rate": 9,
        }
    }  # fmt: skip


def test_types_that_share_a_queue_keep_separate_policies(tmp_path):
    jobs = types_of(
        tmp_path,
        '[a]\nqueue = "q"\nretry = "once"\ndoors = ["http"]\n[b]\nqueue = "q"\n'
        'doors = ["http"]\nmax_attempts = 4\n',
    )

    assert jobs.settings("") == {"q": {"doors": 1, "max_attempts@a": 1, "max_attempts@b": 4}}


def test_section_without_doors_closes_its_queue(tmp_path):
    assert types_of(tmp_path, '[a]\nqueue = "q"\n').settings("") == {"q": {"doors": None}}


def test_worker_configures_only_the_queues_of_its_cluster(tmp_path):
    jobs = types_of(
        tmp_path,
        '[clusters]\nbulk = "pinlater://bulk"\n[a]\nqueue = "a"\n[b]\nqueue = "b"\ncluster = "bulk"\n',
    )

    assert set(jobs.settings("pinlater://home")) == {"a"}
    assert set(jobs.settings("pinlater://bulk")) == {"a", "b"}


def test_types_of_one_queue_must_have_the_same_doors(tmp_path):
    with pytest.raises(InvalidConfig, match=r"b.doors: queue q has \['http'\] in section a"):
        types_of(tmp_path, '[a]\nqueue = "q"\ndoors = ["http"]\n[b]\nqueue = "q"\n')


def test_all_problems_of_a_file_are_reported_at_once(tmp_path):
    with pytest.raises(InvalidConfig) as raised:
        types_of(
            tmp_path,
            """
            [clusters]
            bulk = 7
            [a]
            retry = "never"
            doors = ["ftp"]
            cluster = "big"
            retry_growth = 20
            """,
        )

    assert raised.value.problems == (
        "clusters.bulk: must be a broker URL",
        "a.queue: must be the name of a queue",
        "a.retry: must be pinlater or once, got 'never'",
        "a.cluster: 'big' is not in section clusters",
        "a.doors: must be a list of http, thrift, got ['ftp']",
        "a.retry_growth: must be a number from 1 to 10, got 20",
    )


def test_positional_arguments_are_converted_to_named_ones():
    def resize(path, width=10, **more):
        pass

    def total(*numbers):
        pass

    def echo(body):
        pass

    assert bind_by_name(resize, ("a",), {"width": 3}) == ((), {"path": "a", "width": 3})
    assert bind_by_name(resize, ("a",), {"height": 3}) == ((), {"path": "a", "height": 3})
    assert bind_by_name(total, (1, 2), {}) == ((1, 2), {})
    assert bind_by_name(echo, (), {"body": b"x"}) == ((b"x",), {})
    with pytest.raises(TypeError):
        bind_by_name(echo, (1, 2), {})


def test_other_programs_run_only_the_open_job_types(tmp_path):
    jobs = types_of(
        tmp_path,
        '[open_one]\nqueue = "d1"\ndoors = ["http"]\n[shut]\nqueue = "d2"\n',
    )

    def open_one():
        pass

    def shut():
        pass

    jobs.job(open_one)
    jobs.job(shut)

    assert doors.get_task_name("d1", "open_one") == doors.get_task_name("d1", "") == "open_one"
    for queue, job_type in (("d2", "shut"), ("d1", "celery.backend_cleanup"), ("d2", "open_one")):
        with pytest.raises(InvalidMessage, match="is not open"):
            doors.get_task_name(queue, job_type)


def test_doors_are_stored_as_a_number():
    assert doors.is_open(2.0, "thrift")
    assert not doors.is_open(2.0, "http")
    assert not doors.is_open(None, "http")
    assert JobType("q").doors == ()
