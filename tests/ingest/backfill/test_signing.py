"""Signed requests: the headers, the signature computed by its definition, and machines without credentials."""

import hashlib
import hmac
from pathlib import Path

import pytest

from ingest.backfill.signing import signer

HOST, PATH = "bucket.s3.ap-northeast-1.amazonaws.com", "/folder/20251113.csv.lz4"


def digest(key: bytes, text: str) -> bytes:
    return hmac.new(key, text.encode(), hashlib.sha256).digest()


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_signature_is_the_one_of_its_definition(method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Signature Version 4 (https://docs.aws.amazon.com/AmazonS3/latest/API/sig-v4-header-based-auth.html)."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    headers = {name.lower(): value for name, value in signer("ap-northeast-1")(method, f"https://{HOST}{PATH}").items()}
    assert headers["x-amz-request-payer"] == "requester"
    at = headers["x-amz-date"]
    scope = f"{at[:8]}/ap-northeast-1/s3/aws4_request"
    signed = ["host", "x-amz-content-sha256", "x-amz-date", "x-amz-request-payer"]
    lines = [f"{name}:{HOST if name == 'host' else headers[name]}\n" for name in signed]
    request = "\n".join([method, PATH, "", "".join(lines), ";".join(signed), headers["x-amz-content-sha256"]])
    to_sign = "\n".join(["AWS4-HMAC-SHA256", at, scope, hashlib.sha256(request.encode()).hexdigest()])
    key = b"AWS4secret"
    for part in scope.split("/"):
        key = digest(key, part)
    signature = digest(key, to_sign).hex()
    assert headers["authorization"] == (
        f"AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/{scope}, SignedHeaders={';'.join(signed)}, Signature={signature}"
    )


def test_without_credentials_the_error_names_what_to_set(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
        monkeypatch.setenv(name, str(tmp_path / "none"))
    with pytest.raises(ValueError, match="set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"):
        signer("ap-northeast-1")
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(ValueError, match="nobody"):
        signer("ap-northeast-1")
