"""A wheel is a zip of the package, which has nothing to compile: no index, no setuptools."""
import base64
import hashlib
import os
import zipfile

NAME, VERSION = "syncopate", "0.1.0"
INFO = f"{NAME}-{VERSION}.dist-info"


def build_wheel(directory, config_settings=None, metadata_directory=None):
    files = {f"{INFO}/METADATA": f"Metadata-Version: 2.1\nName: {NAME}\nVersion: {VERSION}\n"
                                 "Requires-Python: >=3.9\nRequires-Dist: numpy\n".encode(),
             f"{INFO}/WHEEL": b"Wheel-Version: 1.0\nGenerator: syncopate\nRoot-Is-Purelib: true\n"
                              b"Tag: py3-none-any\n"}
    for name in sorted(os.listdir(NAME)):
        if name.endswith((".py", ".typed")):
            with open(os.path.join(NAME, name), "rb") as file:
                files[f"{NAME}/{name}"] = file.read()
    record = ""
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{name},sha256={digest},{len(data)}\n"
    wheel = f"{NAME}-{VERSION}-py3-none-any.whl"
    with zipfile.ZipFile(os.path.join(directory, wheel), "w", zipfile.ZIP_DEFLATED) as archive:
        files[f"{INFO}/RECORD"] = f"{record}{INFO}/RECORD,,\n".encode()
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel
