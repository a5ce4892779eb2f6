"""The errors a user may meet. Each is one sentence that says what is wrong and what to do."""


class GeobiasError(Exception):
    """Something failed while running; the command line ends with exit code 3."""

    exit_code = 3


class InputError(GeobiasError):
    """The user gave something that cannot be used; the command line ends with exit code 2."""

    exit_code = 2
