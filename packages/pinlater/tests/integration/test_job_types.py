"""Job types shared by Celery and programs in other languages: bodies, attempts and run logs."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import support
from support.pictures import app, archive, thumbnail
from support.waiting import wait_until

from pinlater import job_body
from pinlater.admin import Admin
from pinlater.brokers import of_socket
from pinlater.job_body import JSON, JobBody
from pinlater.models import JobState, NewJob

pytestmark = [pytest.mark.redis, pytest.mark.slow]


class Pictures:
    """The broker of the app, and a worker."""

    def __init__(self, folder, broker, options):
        self.broker, self.options = broker, options
        self.notes, self.log = folder / "notes", folder / "log"
        self.admin = Admin.connect(broker)
        self.environ = os.environ | {
            "PICTURES_BROKER": broker,
            "PICTURES_OPTIONS": json.dumps(options),
            "PICTURES_NOTES": str(self.notes),
            "PYTHONPATH": str(Path(next(iter(support.__path__))).parent),
            "C_FORCE_ROOT": "1",
        }

    def start(self):
        code = "from support.pictures import app; app.worker_main(__import__('sys').argv[1:])"
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-c", code, "worker", "-Q", "pictures,archives", "-P", "solo", "-l", "INFO"],
            env=self.environ, stdout=subprocess.DEVNULL, stderr=self.log.open("ab"),
        )  # fmt: skip

    def put(self, body, name, queue="pictures"):
        job = NewJob(job_body.encode(body), name=name)
        self.admin.cluster.enqueue(queue, [job])

    def waiting(self):
        states = [(q, JobState.PENDING) for q in ("pictures", "archives")]
        return [job for state in states for job in self.admin.jobs(*state)]

    def noted(self):
        lines = self.notes.read_text().splitlines() if self.notes.exists() else []
        return sorted(json.loads(line) for line in lines)

    def runs(self):
        found = [line.partition("{")[2] for line in self.log.read_text().splitlines()]
        return [json.loads("{" + line) for line in found if '"run_ms"' in line]


@pytest.fixture(params=["redis", "postgres"])
def pictures(request, tmp_path, redis_server, redis_client):
    if request.param == "redis":
        broker, options = of_socket(redis_server.socket), {}
    else:
        server = request.getfixturevalue("postgres_server")
        dsn = server.create_database(f"p_{tmp_path.name.replace('-', '_')[-40:]}".lower())
        broker, options = f"pinlater+{dsn}", {"control": redis_server.url}
    pictures = Pictures(tmp_path, broker, options)
    app.conf.update(broker_url=broker, broker_transport_options=options)
    app.set_current()
    yield pictures
    app.close()
    pictures.process.kill()
    pictures.process.wait()


def test_celery_and_other_programs_share_a_queue(pictures):
    with app.connection_for_write(
        pictures.broker, transport_options=pictures.options
    ) as connection:
        thumbnail.apply_async(("python.png",), connection=connection, countdown=0.01)
        archive.apply_async(("celery.png",), connection=connection)
    waiting = pictures.waiting()
    pictures.put(JobBody(b'{"path": "java.png", "width": 3}', JSON), "thumbnail")
    pictures.put(JobBody(b'["go.png"]', JSON), "")
    pictures.put(JobBody(b"\x00\xff", "image/png"), "thumbnail")
    pictures.put(JobBody(b'"broken"', JSON), "thumbnail")
    pictures.put(JobBody(b'["stolen"]', JSON), "archive")
    pictures.put(JobBody(b'["stolen"]', JSON), "archive", "archives")
    pictures.start()

    wait_until(lambda: len(pictures.noted()) == 7)
    wait_until(lambda: pictures.admin.status("pictures").sizes.failed == 2)
    wait_until(lambda: len(pictures.runs()) == 7)

    by_name = {job.name: job.body for job in waiting}
    assert job_body.decode(by_name["thumbnail"]) == JobBody(b'{"path": "python.png"}', JSON)
    assert by_name["archive"].startswith(b"{")
    assert pictures.noted() == [
        ["archive", "celery.png", 0],
        ["thumbnail", "00ff", 10],
        ["thumbnail", "broken", 10],
        ["thumbnail", "broken", 10],
        ["thumbnail", "go.png", 10],
        ["thumbnail", "java.png", 3],
        ["thumbnail", "python.png", 10],
    ]
    failed = {job.name: job.problem for job in pictures.admin.jobs("pictures", JobState.FAILED)}
    assert failed["thumbnail"] == "ValueError: no picture"
    assert "is not open to other programs" in failed["archive"]
    assert pictures.admin.status("pictures").settings["doors"] == 2
    outcomes = sorted((run["job_type"], run["attempt"], run["outcome"]) for run in pictures.runs())
    assert outcomes == [
        ("archive", 1, "succeeded"),
        ("thumbnail", 1, "again"),
        ("thumbnail", 1, "succeeded"),
        ("thumbnail", 1, "succeeded"),
        ("thumbnail", 1, "succeeded"),
        ("thumbnail", 1, "succeeded"),
        ("thumbnail", 2, "failed"),
    ]
    assert {run["queue"] for run in pictures.runs()} == {"pictures", "archives"}
    assert all(run["wait_ms"] >= 0 for run in pictures.runs())
    [stolen] = pictures.admin.jobs("archives", JobState.FAILED)
    assert "is not open to other programs" in stolen.problem
