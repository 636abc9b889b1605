"""Modules and archives that the program brings along reach the functions."""

import os
import tempfile
import zipfile

from pyflink.common import Types
from pyflink.datastream import StreamExecutionEnvironment

folder = tempfile.mkdtemp()
with open(os.path.join(folder, "brought_module.py"), "w") as file:
    file.write("FACTOR = 7\n")
os.makedirs(os.path.join(folder, "files", "brought_package"))
with open(os.path.join(folder, "files", "brought_package", "__init__.py"), "w") as file:
    file.write("NAME = 'package'\n")
with zipfile.ZipFile(os.path.join(folder, "data.zip"), "w") as archive:
    archive.writestr("inner/words.txt", "from the archive")


def use(value):
    import brought_module
    import brought_package

    with open("data.zip/inner/words.txt") as file:
        text = file.read()
    with open("renamed/inner/words.txt") as file:
        same = file.read() == text
    return value * brought_module.FACTOR, brought_package.NAME, text, same


env = StreamExecutionEnvironment.get_execution_environment()
env.set_parallelism(1)
env.add_python_file(os.path.join(folder, "brought_module.py"))
env.add_python_file(os.path.join(folder, "files"))
env.add_python_archive(os.path.join(folder, "data.zip"))
env.add_python_archive(os.path.join(folder, "data.zip"), "renamed")
env.from_collection([1, 2], type_info=Types.INT()).map(use).print()
env.execute()
