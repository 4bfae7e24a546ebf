"""Small archives in the shape of Kaggle's."""

import csv
import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path

SPECIES = ("Acer_Opalus", "Quercus_Rubra", "Tilia_Tomentosa")
LEAVES, PASSENGERS, REQUESTS, UNLABELLED = 30, 40, 60, 24


def zipped(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return packed.getvalue()


def table(header: list[str], rows: list[list[object]]) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows([header, *rows])
    return text.getvalue().encode()


def leaf() -> dict[str, bytes]:
    header = ["id", "species", *(f"{k}{i}" for k in ("margin", "shape", "texture") for i in (1, 2))]
    rows = [[3 * i + 1, SPECIES[i % 3], *(i / 7 + k for k in range(6))] for i in range(LEAVES)]
    images = {f"images/{i}.jpg": f"picture {i}".encode() for i in range(3 * LEAVES + 5)}
    return {
        "train.csv.zip": zipped({"train.csv": table(header, rows)}),
        "test.csv.zip": zipped({"test.csv": b"id,margin1\n2,0.1\n"}),
        "images.zip": zipped(images),
        "sample_submission.csv.zip": zipped({"sample_submission.csv": b"id\n"}),
    }


def spaceship() -> dict[str, bytes]:
    header = ["PassengerId", "HomePlanet", "CryoSleep", "Age", "Name", "Transported"]
    rows: list[list[object]] = [
        [f"{i:04d}_01", "Mars", i % 3 == 0, i / 3, f"N. {i}", i % 2 == 0] for i in range(PASSENGERS)
    ]
    return {
        "train.csv": table(header, rows),
        "test.csv": b"PassengerId\n9999_01\n",
        "sample_submission.csv": b"PassengerId,Transported\n9999_01,False\n",
    }


def request(number: int, *, known: bool) -> dict[str, object]:
    given: dict[str, object] = {
        "request_id": f"t3_{number}",
        "request_text_edit_aware": f"please, number {number}",
        "requester_account_age_in_days_at_request": number / 2,
    }
    if known:
        given["giver_username_if_known"] = f"giver{number}"
        given["requester_received_pizza"] = number % 4 == 0
    return given


def pizza() -> dict[str, bytes]:
    train = [request(i, known=True) for i in range(REQUESTS)]
    test = [request(1000 + i, known=False) for i in range(UNLABELLED)]
    return {
        "train.json": json.dumps(train).encode(),
        "test.json": json.dumps(test).encode(),
        "sampleSubmission.csv": b"request_id,requester_received_pizza\nt3_1000,0\n",
    }


def insults() -> dict[str, bytes]:
    said = ['"one, two"', '"a\nb"', '"NA"', '"é \\\\xa0"', '"="', '"twice"', '"twice"']
    header = ["Insult", "Date", "Comment"]
    train: list[list[object]] = [[i % 2, "20120618192155Z", f'"train {i}"'] for i in range(9)]
    test: list[list[object]] = [[i % 2, "", one, "PublicTest"] for i, one in enumerate(said)]
    return {
        "train.csv": table(header, train),
        "test.csv": b"id,Date,Comment\n",
        "test_with_solutions.csv": table([*header, "Usage"], test),
        "impermium_verification_set.csv": b"id\n",
    }


SHAPES = {
    "leaf-classification": leaf,
    "spaceship-titanic": spaceship,
    "random-acts-of-pizza": pizza,
    "detecting-insults-in-social-commentary": insults,
}


def archive(folder: Path, name: str, files: Mapping[str, bytes] | None = None) -> Path:
    """An archive of a competition, or of other files by its name."""
    path = folder / f"{name}.zip"
    path.write_bytes(zipped(SHAPES[name]() if files is None else files))
    return path
