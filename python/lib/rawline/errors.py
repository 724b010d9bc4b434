"""The package's exceptions: one class per cause, and a `kind` that says how to handle it."""

from typing import Literal

Kind = Literal["fix_request", "try_again", "wait", "tell_human"]


class RawlineError(Exception):
    """Any error of this package. Its message says what to do.

    `kind` says how a program can handle it:

    - `"fix_request"`: the request is wrong; a retry fails with the same error
    - `"try_again"`: a retry may succeed
    - `"wait"`: a retry succeeds after something was freed or has recovered
    - `"tell_human"`: only a human can help
    """

    kind: Kind
    """How a program can handle it."""
    code: str | None
    """The stable name of the error in the broker or the format, such as `topic_not_found` or `batch_crc`, if any."""
    status: int | None
    """The HTTP status, if the broker responded with an error."""
    retry_after: float | None
    """Seconds that the broker asks to wait before a retry."""

    def __init__(
        self,
        message: str,
        kind: Kind = "tell_human",
        code: str | None = None,
        status: int | None = None,
        retry_after: float | None = None,
    ) -> None:
        super().__init__(message, kind, code, status, retry_after)
        self.kind = kind
        self.code = code
        self.status = status
        self.retry_after = retry_after

    def __str__(self) -> str:
        return str(self.args[0])


class ConfigError(RawlineError, ValueError):
    """An invalid setting or argument."""


class ConnectError(RawlineError, ConnectionError):
    """The connection to the broker failed."""


class TlsError(RawlineError, ConnectionError):
    """The broker's certificate is not trusted, or it doesn't support TLS."""


class BrokenError(RawlineError, ConnectionError):
    """The connection broke before the response was received; the request may have been carried out."""


class RequestTimeoutError(RawlineError, TimeoutError):
    """The broker did not respond within `request_timeout`; the request may have been carried out."""


class WaitTimeoutError(RawlineError, TimeoutError):
    """A call timed out: the awaited event may still happen."""


class RefusedError(RawlineError):
    """The broker responded with an error, given by `code` and `status`."""


class FencedError(RefusedError):
    """A newer instance of the producer was opened, or its name was forgotten. Records in flight may be stored."""


class AnswerError(RawlineError):
    """The response isn't valid for a broker."""


class BatchError(RawlineError, ValueError):
    """The bytes aren't a batch, by the rules of docs/format.md; `code` names the rule."""


class StoppedError(RawlineError):
    """The producer stopped after an earlier failure; records without an offset were not stored."""


class ValueFormatError(RawlineError, ValueError):
    """The bytes, the JSON or the object isn't a structured value."""


class AvroError(RawlineError, ValueError):
    """An Avro schema, message or measurement is invalid or doesn't match."""
