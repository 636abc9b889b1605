"""Clients of AWS, by the properties that Flink's connectors take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headrace.common.errors import FunctionTypeError, GraphError, HeadraceError
from headrace.datastream.connectors.client_library import client_library

__all__ = ["aws_client", "aws_errors", "checked_properties", "what_aws_says", "whole"]

_CREDENTIALS = "aws.credentials.provider"
_PROVIDERS = ("AUTO", "BASIC", "ENV_VAR", "PROFILE", "WEB_IDENTITY_TOKEN")
_TRUST = "aws.trust.all.certificates"
_PROBE_S = 5.0
_ARGUMENTS = {
    "aws.region": "region_name",
    "aws.endpoint": "endpoint_url",
    f"{_CREDENTIALS}.basic.accesskeyid": "aws_access_key_id",
    f"{_CREDENTIALS}.basic.secretkey": "aws_secret_access_key",
    f"{_CREDENTIALS}.basic.sessiontoken": "aws_session_token",
}


def checked_properties(properties: Any, who: str) -> dict[str, str]:
    """Properties that a user gave, as text."""
    if not isinstance(properties, Mapping):
        raise FunctionTypeError(f"{who} takes a dict of properties, not {properties!r}")
    given = {str(key): str(value) for key, value in properties.items()}
    if "aws.region" not in given and "aws.endpoint" not in given:
        raise GraphError(f"{who} needs the property 'aws.region', such as 'eu-west-1'")
    provider = given.get(_CREDENTIALS, "AUTO").upper()
    if provider not in _PROVIDERS:
        raise GraphError(
            f"{_CREDENTIALS!r} is one of {', '.join(_PROVIDERS)}, not {provider!r}; a role that is "
            f"to be assumed can be named in a profile of AWS, for '{_CREDENTIALS}.profile.name'"
        )
    keys = (f"{_CREDENTIALS}.basic.accesskeyid", f"{_CREDENTIALS}.basic.secretkey")
    if provider == "BASIC" and not all(key in given for key in keys):
        raise GraphError(f"BASIC credentials of {who} need {keys[0]!r} and {keys[1]!r}")
    return given


def whole(properties: Mapping[str, str], name: str, default: int, least: int, most: int) -> int:
    """A property that is a whole number; called while a program is built."""
    text = properties.get(name, str(default)).strip()
    if not text.isdecimal() or not least <= int(text) <= most:
        raise GraphError(f"{name!r} is a whole number from {least} to {most}, not {text!r}")
    return int(text)


def aws_client(service: str, properties: Mapping[str, str], *, patient: bool = True) -> Any:
    """A client of boto3; one that is not patient says soon that there is no answer.

    Without keys among the properties, credentials are found as boto3 does: in variables, files, and
    the role of the machine.
    """
    boto3 = client_library("boto3", "boto3", "kinesis")
    arguments: dict[str, Any] = {
        argument: properties[name] for name, argument in _ARGUMENTS.items() if name in properties
    }
    if properties.get(_TRUST, "false").lower() == "true":
        arguments["verify"] = False
    profile = properties.get(f"{_CREDENTIALS}.profile.name")
    if not patient:
        config = client_library("botocore.config", "boto3", "kinesis")
        arguments["config"] = config.Config(
            connect_timeout=_PROBE_S, read_timeout=_PROBE_S, retries={"max_attempts": 0}
        )
    return boto3.Session(profile_name=profile).client(service, **arguments)


def aws_errors() -> tuple[type[Exception], ...]:
    """What clients raise."""
    exceptions = client_library("botocore.exceptions", "boto3", "kinesis")
    return (exceptions.ClientError, exceptions.BotoCoreError)


def what_aws_says(error: Exception, what: str) -> HeadraceError:
    """An error of AWS, with what the job was at."""
    return HeadraceError(f"{what}: {type(error).__name__}: {error}")
