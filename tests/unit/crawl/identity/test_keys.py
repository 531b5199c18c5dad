"""Key files: their permissions, their content, and which key signs when."""

from __future__ import annotations

import json
import os
import stat

import pytest

from aragog.crawl.identity.keys import (
    KeyFile,
    check_key_file,
    encode_base64url,
    jwk_thumbprint,
    new_key,
    published_keys,
    read_keys,
    rotate_keys,
    signing_key,
    write_keys,
)
from aragog.errors import ConfigError
from aragog.runtime.clock import ManualClock

DAY_S = 86_400
NOW_S = 1_700_000_000


@pytest.fixture
def path(tmp_path):
    return tmp_path / "identity.jwks"


def test_key_file_is_private_and_round_trips(path):
    keys = [new_key(NOW_S), new_key(NOW_S + DAY_S)]
    umask = os.umask(0)
    try:
        write_keys(path, keys, overwrite=False)
    finally:
        os.umask(umask)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_keys(path) == keys
    assert list(path.parent.iterdir()) == [path]


def test_key_id_is_the_thumbprint_of_rfc_8037():
    x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"

    assert jwk_thumbprint(x) == "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k"


def test_new_key_never_replaces_a_file(path):
    write_keys(path, [new_key(0)], overwrite=False)
    before = path.read_bytes()

    with pytest.raises(ConfigError, match="already exists"):
        write_keys(path, [new_key(0)], overwrite=False)

    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_key_file_readable_by_others_is_refused(path):
    write_keys(path, [new_key(0)], overwrite=False)
    path.chmod(0o640)

    with pytest.raises(ConfigError, match=r"identity.key: .* mode 0640.*chmod 600"):
        read_keys(path)


def entry():
    key = new_key(0)
    return key.public_jwk() | {"d": encode_base64url(key.private_key.private_bytes_raw())}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"keys": 5}',
        '{"keys": []}',
        json.dumps({"keys": [entry() | {"x": new_key(0).x}]}),
        json.dumps({"keys": [entry() | {"crv": "X25519"}]}),
        json.dumps({"keys": [entry() | {"d": "AAAA"}]}),
        json.dumps({"keys": [entry() | {"d": 5}]}),
        json.dumps({"keys": [entry() | {"d": "ä"}]}),
        json.dumps({"keys": [entry() | {"nbf": "soon"}]}),
        json.dumps({"keys": [{name: v for name, v in entry().items() if name != "d"}]}),
    ],
)
def test_malformed_key_file_is_refused_without_showing_it(path, text):
    path.touch(0o600)
    path.write_text(text)

    with pytest.raises(ConfigError, match=r"identity.key: .*identity\.jwks") as caught:
        read_keys(path)

    secrets = [key["d"] for key in json.loads(text)["keys"] if "d" in key] if "d" in text else []
    assert not any(len(str(secret)) > 8 and str(secret) in str(caught.value) for secret in secrets)


def test_key_of_the_rfc_is_refused(path):
    path.touch(0o600)
    private = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"
    public = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"
    path.write_text(
        json.dumps({"keys": [{"kty": "OKP", "crv": "Ed25519", "d": private, "x": public}]})
    )

    with pytest.raises(ConfigError, match="test key of RFC 9421"):
        read_keys(path)


def test_missing_key_file_is_reported(path):
    with pytest.raises(
        ConfigError, match=r"identity.key: .*identity\.jwks cannot be read: No such"
    ):
        read_keys(path)


def test_key_never_shows_its_private_part():
    key = new_key(0)
    private = encode_base64url(key.private_key.private_bytes_raw())

    assert private not in repr(key)
    assert private not in json.dumps(key.public_jwk())


def test_rotation_publishes_both_keys_while_they_overlap():
    old = new_key(NOW_S - 90 * DAY_S)
    successor = new_key(NOW_S + 2 * DAY_S)

    keys = rotate_keys([old], successor, NOW_S, 2 * DAY_S)

    for day, signs, published in (
        (0, old, 2),
        (1.9, old, 2),
        (2, successor, 2),
        (3.9, successor, 2),
        (4, successor, 1),
    ):
        now_s = NOW_S + day * DAY_S
        assert signing_key(keys, now_s).thumbprint == signs.thumbprint, day
        assert len(published_keys(keys, now_s)) == published, day


def test_rotation_without_overlap_drops_the_old_keys():
    successor = new_key(NOW_S)

    assert rotate_keys([new_key(0), new_key(5)], successor, NOW_S, 0) == [successor]


def test_second_rotation_extends_no_key_and_drops_expired_ones():
    first, second = new_key(0), new_key(NOW_S)
    keys = rotate_keys([first], second, NOW_S, DAY_S)
    third = new_key(NOW_S + 2 * DAY_S)

    keys = rotate_keys(keys, third, NOW_S + DAY_S, DAY_S)

    assert [key.thumbprint for key in keys] == [second.thumbprint, third.thumbprint]
    assert keys[0].end_s == NOW_S + 3 * DAY_S


def test_key_file_without_a_valid_key_is_an_error(path):
    write_keys(path, [new_key(NOW_S)], overwrite=False)

    assert check_key_file(path, NOW_S).start_s == NOW_S
    with pytest.raises(ConfigError, match="no key is valid now"):
        check_key_file(path, NOW_S - 1)


def test_rotated_key_file_is_reloaded_and_a_broken_one_ignored(path):
    clock = ManualClock()
    file = KeyFile(path, clock)
    with pytest.raises(ConfigError):
        file.keys()
    first, second = [new_key(0)], [new_key(0), new_key(5)]
    write_keys(path, first, overwrite=False)
    assert file.keys() == first

    write_keys(path, second, overwrite=True)
    assert file.keys() == first
    clock.advance_ms(30_000)
    assert file.keys() == second

    path.write_text("broken")
    clock.advance_ms(30_000)
    assert file.keys() == second
    path.unlink()
    clock.advance_ms(30_000)
    assert file.keys() == second
