"""The errors a user may meet. Each is one sentence that says what is wrong and what to do."""


class GeobiasError(Exception):
    """Base class of all errors of geobias: something failed while running.

    The command line prints the message and ends with exit code 3.

    Examples
    --------
    >>> import geobias
    >>> try:
    ...     geobias.read_run("runs/no-such-run")
    ... except geobias.GeobiasError as error:
    ...     message = str(error)
    """

    exit_code = 3


class InputError(GeobiasError):
    """Something that you gave cannot be used; the message says what is wrong and what to do.

    The command line prints the message and ends with exit code 2.

    Examples
    --------
    >>> import geobias
    >>> geobias.audit_regions(countries=["Atlantis"])
    Traceback (most recent call last):
        ...
    geobias.errors.InputError: ...
    """

    exit_code = 2
