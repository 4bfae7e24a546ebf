"""A model that is a name at the hub: whether it can be had, and what of it is here."""

from pathlib import Path

from timeful.errors import SettingsError
from timeful.training.config import ModelPart


def is_at_hub(part: ModelPart) -> bool:
    """Whether the model is a name at the hub, which transformers fetches or has fetched."""
    return not Path(part.path).is_dir()


def file_of(part: ModelPart, name: str) -> Path | None:
    """A file of a model, in its folder or in the hub's cache."""
    if not is_at_hub(part):
        path = Path(part.path, name)
        return path if path.is_file() else None
    import huggingface_hub as hub  # noqa: PLC0415 - an extra, and light

    try:
        found = hub.try_to_load_from_cache(part.path, name)
    except hub.errors.HFValidationError:
        return None
    return Path(found) if isinstance(found, str) else None


def check_hub(name: str, *, is_offline: bool) -> None:
    """Ask the hub for a model; its weights are fetched later, by whoever loads them.

    Raises:
        SettingsError: If it may not be asked, cannot be, or has no such model.
    """
    import huggingface_hub as hub  # noqa: PLC0415 - as above

    if is_offline:
        raise SettingsError(
            f"{name} is no folder, so it would be fetched from the hub, and HF_HUB_OFFLINE "
            "forbids that; give a folder as model.path, or fetch it before"
        )
    try:
        hub.HfApi().model_info(name, timeout=10)
    except (hub.errors.RepositoryNotFoundError, hub.errors.HFValidationError):
        raise SettingsError(
            f"{name} is no folder, and the hub has no model of this name, or not for you; give a "
            "folder, or a name as it stands there"
        ) from None
    # Its client's error: that of httpx or of httpx2, whichever it came with.
    except (hub.errors.HTTPError, OSError) as error:  # type: ignore[attr-defined]
        raise SettingsError(
            f"{name} is no folder, and the hub cannot be asked for it "
            f"({str(error).partition(chr(10))[0]}); give a folder as model.path"
        ) from None
