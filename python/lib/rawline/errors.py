"""What can go wrong: one class for each cause, one `kind` for what can be done about it."""

from typing import Literal

Kind = Literal["fix_request", "try_again", "wait", "tell_human"]


class RawlineError(Exception):
    """Any error of this package. Its message says what to do.

    `kind` is what a program can do about it:

    - `"fix_request"`: it is wrong; the same again gives the same error
    - `"try_again"`: it may work if done again
    - `"wait"`: it will work when something has been freed or has recovered
    - `"tell_human"`: only a person can help
    """

    kind: Kind
    """What can be done about it."""
    code: str | None
    """The broker's or the format's stable name for it, such as `topic_not_found` or `batch_crc`, if it has one."""
    status: int | None
    """The HTTP status, if the broker answered with an error."""
    retry_after: float | None
    """Seconds that the broker asked to wait before the next try."""

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
    """A setting or an argument that can't be."""


class ConnectError(RawlineError, ConnectionError):
    """No connection to the broker came about."""


class TlsError(RawlineError, ConnectionError):
    """The broker is not who it should be, or speaks no TLS."""


class BrokenError(RawlineError, ConnectionError):
    """The connection broke before the answer was there; the request may have been carried out."""


class RequestTimeoutError(RawlineError, TimeoutError):
    """The broker did not answer within `request_timeout`; the request may have been carried out."""


class WaitTimeoutError(RawlineError, TimeoutError):
    """The `timeout` of a call ran out: what was waited for may still come."""


class RefusedError(RawlineError):
    """The broker answered with an error; `code` and `status` say which."""


class AnswerError(RawlineError):
    """The answer is not one that a broker gives."""


class BatchError(RawlineError, ValueError):
    """Bytes that are no batch, by the rules of docs/format.md; `code` says which one."""


class StoppedError(RawlineError):
    """The producer stopped after an earlier failure; what has no offset was not stored."""


class ValueFormatError(RawlineError, ValueError):
    """Bytes, JSON or objects that are no structured value."""


class AvroError(RawlineError, ValueError):
    """An Avro schema, message or measurement that does not fit."""
