"""Signatures for requests to a bucket that bills the client: made with the AWS credentials of this machine."""

from collections.abc import Callable, Mapping

Sign = Callable[[str, str], Mapping[str, str]]
"""(method, URL) → the headers with which the request may be sent for the next minutes."""


def signer(region: str) -> Sign:
    """A signer for buckets of an AWS region; ValueError if this machine has no AWS credentials."""
    # Here, because only those who pay need it: it takes a quarter of a second.
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.exceptions import BotoCoreError
    from botocore.session import get_session

    try:
        credentials = get_session().get_credentials()
    except BotoCoreError as error:
        raise ValueError(f"the AWS credentials cannot be read: {error}") from error
    if credentials is None:
        raise ValueError("the bucket bills the client: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE")

    def sign(method: str, url: str) -> Mapping[str, str]:
        request = AWSRequest(method, url, headers={"x-amz-request-payer": "requester"})
        S3SigV4Auth(credentials.get_frozen_credentials(), "s3", region).add_auth(request)
        return dict(request.headers.items())

    return sign
