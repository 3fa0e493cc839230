"""Labels behind HTTP(S) or in an object store (s3://, gs://, abfs:// ...), through fsspec where its packages are installed."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import unquote, urlsplit

from crowdassay.errors import FileError, MissingExtraError, ParameterError
from crowdassay.labels.databases.postgres import without_password

PACKAGES = {
    "s3": "s3fs", "s3a": "s3fs", "gs": "gcsfs", "gcs": "gcsfs", "abfs": "adlfs", "az": "adlfs", "http": "aiohttp",
    "https": "aiohttp",
}  # fmt: skip


def fetch_remote(url: str, folder: Path) -> Path:
    """Copy a remote file into a folder, under its own name."""
    shown, parts = without_password(url), urlsplit(url)
    name = Path(unquote(parts.path)).name
    if not name or any(mark in name for mark in "*?["):
        raise ParameterError(f"{shown} does not name one file; patterns and folders go with local files.")
    try:
        import fsspec  # noqa: PLC0415 - an extra
    except ImportError:
        raise MissingExtraError("Labels elsewhere need the extra 'sources': pip install 'crowdassay[sources]'.") from None
    copy = folder / name
    try:
        with fsspec.open(url, "rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
    except ImportError:
        package = PACKAGES.get(parts.scheme, f"the package of fsspec for {parts.scheme}")
        raise MissingExtraError(f"{parts.scheme}:// needs {package}: pip install {package}.") from None
    except FileNotFoundError:
        raise FileError(f"There is nothing at {shown}.") from None
    except ValueError:  # fsspec: Protocol not known
        raise ParameterError(f"'{parts.scheme}' is no kind of place that labels can be read from.") from None
    except Exception as error:  # noqa: BLE001 - each kind of store has errors of its own, which may repeat what is secret
        raise FileError(f"{shown} could not be read ({type(error).__name__}).") from None
    return copy
