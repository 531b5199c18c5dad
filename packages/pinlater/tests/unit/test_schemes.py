"""Registration of the `pinlater://` scheme, and what the import costs."""

import subprocess
import sys

import pytest

FIRST = "import sys, pinlater; assert not {'kombu', 'celery', 'redis'} & {*sys.modules}"
CONNECTION = (
    "from kombu import Connection; Connection('pinlater://').get_transport_cls().__module__"
)


@pytest.mark.parametrize(
    "code",
    [
        f"{FIRST}; {CONNECTION}",
        f"import kombu.transport; import pinlater; {CONNECTION}",
        "import celery; celery.Celery(broker='pinlater://').connection().get_transport_cls()",
    ],
    ids=["before kombu", "after kombu", "without an import"],
)
def test_scheme_is_known_in_any_import_order(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
