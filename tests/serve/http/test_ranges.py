"""Ranges of bytes, as RFC 9110 has them."""

import pytest

from serve.contract.errors import ApiError
from serve.http.ranges import Span, span_of


@pytest.mark.requirement("bulk:ranges")
@pytest.mark.parametrize(
    ("text", "span"),
    [
        (None, None),
        ("bytes=0-0", Span(0, 0)),
        ("bytes=10-", Span(10, 99)),
        ("bytes=90-1000", Span(90, 99)),
        ("bytes=-8", Span(92, 99)),
        ("bytes=-1000", Span(0, 99)),
        (" bytes = 3-4 ", Span(3, 4)),
        # Not one range of bytes: answered with all of them.
        ("bytes=0-1,5-6", None),
        ("lines=0-1", None),
        ("bytes=5-4", None),
        ("bytes=-", None),
        ("bytes=a-b", None),
        ("", None),
    ],
)
def test_a_range_is_cut_at_the_file(text: str | None, span: Span | None) -> None:
    assert span_of(text, 100) == span


@pytest.mark.requirement("bulk:ranges")
@pytest.mark.parametrize("text", ["bytes=100-", "bytes=100-200", "bytes=-0", "bytes=999999999999999999-"])
def test_a_range_outside_of_the_file_is_refused_with_its_size(text: str) -> None:
    with pytest.raises(ApiError) as refused:
        span_of(text, 100)
    assert refused.value.status == 416
    assert refused.value.headers == {"content-range": "bytes */100"}
    assert "100 bytes" in refused.value.message
