"""The Python package: python -m unittest discover -s bindings/python/tests

Needs the installed package and numpy; what needs torch is skipped without it. The programs are compiled from the small archives of
tests/archives.
"""

import collections
import dataclasses
import io
import pathlib
import subprocess
import sys
import tempfile
import unittest

import numpy as np

import fidibus

try:
    import torch
except ImportError:
    torch = None

ARCHIVES = pathlib.Path(__file__).parents[3] / "tests" / "archives"
X = np.array([[1, 2, 3]], np.float32)
LINEAR_OF_X = np.array([[8.5, 25.5]], np.float32)  # W = [[0 1 2] [3 4 5]], b = [0.5 -0.5]


class Programs(unittest.TestCase):
    """A folder for programs, and how one is made."""

    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)

    def compile(self, methods, **options):
        path = pathlib.Path(self.folder.name) / f"{self.id()}.pte"
        if isinstance(methods, str):
            methods = ARCHIVES / f"{methods}.pt2"
        self.report = fidibus.compile(methods, path, **options)
        return path

    def load(self, methods, name="forward"):
        return fidibus.Runtime.get().load_program(self.compile(methods)).load_method(name)


class ImportTest(unittest.TestCase):
    def test_importing_needs_neither_torch_nor_numpy(self):
        code = (
            "import sys\n"
            "sys.modules['torch'] = sys.modules['numpy'] = None\n"  # importing them now fails
            "import fidibus\n"
            "program = fidibus.Runtime.get().load_program(sys.argv[1])\n"
            "print(program.method_names, program.metadata('forward').input_tensor_meta(0).sizes())\n"
        )
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/linear.pte"
            fidibus.compile(ARCHIVES / "linear.pt2", path)
            done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
        self.assertEqual(done.stderr, "")
        self.assertEqual(done.stdout, "{'forward'} (1, 3)\n")

    def test_version(self):
        self.assertRegex(fidibus.__version__, r"^\d+\.\d+\.\d+$")


class CompileTest(Programs):
    def test_a_traced_program_leaves_an_etdump(self):
        path = pathlib.Path(self.folder.name) / "traced.etdp"
        program = fidibus.Runtime.get().load_program(self.compile("linear"), enable_etdump=True)
        method = program.load_method("forward")
        for _ in range(2):
            np.testing.assert_array_equal(method.execute([X])[0], LINEAR_OF_X)
        program.write_etdump_result_to_file(path)
        self.assertEqual(path.read_bytes()[8:12], b"ED00")
        self.assertIn(b"native_call_fid::linear.out", path.read_bytes())
        untraced = fidibus.Runtime.get().load_program(self.compile("linear"))
        with self.assertRaisesRegex(RuntimeError, "enable_etdump=True"):
            untraced.etdump()

    def test_report(self):
        path = self.compile("linear")
        self.assertEqual(self.report["operators"], 1)
        self.assertEqual(self.report["program_bytes"], path.stat().st_size)
        self.assertGreaterEqual(self.report["planned_bytes"], self.report["liveness_bound_bytes"])
        self.assertEqual(self.report["unsupported"], [])

    def test_portable_target(self):
        method = fidibus.Runtime.get().load_program(self.compile("linear", target="portable")).load_method("forward")
        np.testing.assert_array_equal(method.execute([X])[0], LINEAR_OF_X)

    def test_delegates(self):
        method = fidibus.Runtime.get().load_program(self.compile("linear", target="xnnpack")).load_method("forward")
        np.testing.assert_allclose(method.execute([X])[0], LINEAR_OF_X, rtol=1e-6)
        self.assertEqual([self.report[key] for key in ("delegates", "delegated", "outside")], [1, 1, []])

    def test_every_unknown_operator_is_named_with_its_line(self):
        with self.assertRaises(fidibus.Error) as caught:
            self.compile("unknown_operators")
        for part in ("2 things that the model needs are not supported", "mylib::twist 'twist': the operator is not known, 2 calls", "mylib::fold"):
            self.assertIn(part, str(caught.exception))

    def test_files_that_are_no_archives(self):
        for name, part in (("not_zip", "not a zip archive"), ("missing_weight", "'layer.weight' is missing"), ("nowhere", "nowhere.pt2")):
            with self.assertRaisesRegex(fidibus.Error, part):
                self.compile(name)
        self.assertEqual(list(pathlib.Path(self.folder.name).glob(f"{self.id()}*")), [])

    def test_a_wrong_target(self):
        with self.assertRaisesRegex((ValueError, fidibus.Error), "gpu"):
            self.compile("linear", target="gpu")


TWIST = "mylib::twist(Tensor x, int by) -> Tensor"
FOLD = "mylib::fold(Tensor x) -> Tensor"


class OwnOperatorTest(Programs):
    """tests/archives/unknown_operators.pt2: twist(fold(twist(x, 1)), 2), on float32 [3]."""

    def compile_own(self):
        schemas = pathlib.Path(self.folder.name) / "operators.txt"
        schemas.write_text(f"{TWIST}\n{FOLD}\n")
        return self.compile("unknown_operators", schemas=schemas)

    def register(self, twist, fold=lambda x: x[::-1] if torch is None else x.flip(0)):
        runtime = fidibus.Runtime.get()
        runtime.register_operator(TWIST, twist)
        runtime.register_operator(FOLD, fold)
        return runtime.load_program(self.compile_own()).load_method("forward")

    def test_functions_are_kernels(self):
        method = self.register(lambda x, by: x * (by + 1))
        self.assertIn("mylib::twist.out", fidibus.Runtime.get().operator_registry.operator_names)
        np.testing.assert_array_equal(method.execute([np.array([1, 2, 3], np.float32)])[0], [18, 12, 6])
        np.testing.assert_array_equal(method.execute([np.array([0, 0, 1], np.float32)])[0], [6, 0, 0])

    def test_the_newest_function_counts_for_new_programs(self):
        first = self.register(lambda x, by: x * by)
        second = self.register(lambda x, by: x + by)
        x = np.array([1, 2, 3], np.float32)
        np.testing.assert_array_equal(first.execute([x])[0], [6, 4, 2])
        np.testing.assert_array_equal(second.execute([x])[0], [6, 5, 4])

    def test_wrong_functions_are_errors_that_name_them(self):
        def raises(x, by):
            raise ValueError("no such mode")

        wrong = (
            (raises, "mylib::twist.out: the Python function raised ValueError\\('no such mode'\\)"),
            (lambda x, by: (x, x), "gave 2 results, the schema has 1"),
            (lambda x, by: 3, "gave no tensor"),
            (lambda x: x, "takes 1 positional argument"),
            (lambda x, by: np.zeros(3, np.int32), "gave int32, the program expects float32"),
            (lambda x, by: np.zeros((2, 3), np.float32), "mylib::twist|rank|sizes"),
        )
        for function, sentence in wrong:
            method = self.register(function)
            with self.assertRaisesRegex(fidibus.Error, sentence):
                method.execute([np.array([1, 2, 3], np.float32)])

    def test_names_behind_a_star(self):
        seen = []

        def twist(x, *, by, modes):
            seen.append((by, modes))
            return x

        runtime = fidibus.Runtime.get()
        runtime.register_operator("mylib::twist(Tensor x, *, int by=1, int[2] modes=[1, 2]) -> Tensor", twist)
        runtime.register_operator(FOLD, lambda x: x)
        schemas = pathlib.Path(self.folder.name) / "starred.txt"
        schemas.write_text(f"mylib::twist(Tensor x, *, int by=1, int[2] modes=[1, 2]) -> Tensor\n{FOLD}\n")
        method = runtime.load_program(self.compile("unknown_operators", schemas=schemas)).load_method("forward")
        method.execute([np.zeros(3, np.float32)])
        self.assertEqual(seen, [(1, [1, 2]), (2, [1, 2])])

    def test_without_kernels_the_names_are_told(self):
        code = (
            "import sys, fidibus\n"
            "try: fidibus.Runtime.get().load_program(sys.argv[1]).load_method('forward')\n"
            "except fidibus.Error as error: print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code, self.compile_own()], capture_output=True, text=True)
        self.assertIn("no kernel for 2 operators that the method needs: mylib::twist.out, mylib::fold.out", done.stdout)

    def test_bad_schemas_and_plug_ins(self):
        runtime = fidibus.Runtime.get()
        with self.assertRaisesRegex(fidibus.Error, "is not understood"):
            runtime.register_operator("mylib::twist(Tensr x) -> Tensor", lambda x: x)
        with self.assertRaisesRegex(fidibus.Error, "cannot load"):
            runtime.load_kernels("nowhere.so")


@dataclasses.dataclass
class Box:
    low: object
    high: object
    label: str


class TreeTest(Programs):
    """Arguments and results in the model's own containers. tests/archives/nested.pt2: forward(pair, table, *, bias, scale)."""

    pair = np.zeros(1, np.float32), np.ones(1, np.float32)
    table = {"a": np.full(1, 3, np.float32), "b": np.full(1, 2, np.float32)}

    def test_nested_arguments_and_results(self):
        method = self.load("nested")
        flat = method.execute([*self.pair, self.table["b"], self.table["a"], np.full(1, 5, np.float32), 4])
        result = method(self.pair, self.table, scale=4, bias=np.full(1, 5, np.float32))
        self.assertEqual(list(result), ["sum", "rest"])
        self.assertIsInstance(result["rest"], list)
        for found, expected in zip([result["sum"], *result["rest"]], flat):
            np.testing.assert_array_equal(found, expected)

    def test_what_does_not_fit_is_named(self):
        method = self.load("nested")
        bias = np.full(1, 5, np.float32)
        for act, sentence in (
            (lambda: method(self.pair, self.table), "keywords lacks"),
            (lambda: method(self.pair, self.table, scale=4, bias=bias, other=1), "keywords has \\['other'\\], which the model does not take"),
            (lambda: method(self.pair, scale=4, bias=bias), "takes 2 positional arguments, 1 given"),
            (lambda: method(self.pair + self.pair, self.table, scale=4, bias=bias), "argument 0 takes 2 values, 4 given"),
            (lambda: method(self.pair, {"a": 1}, scale=4, bias=bias), "argument 1 lacks \\['b'\\]"),
            (lambda: method(self.pair, self.pair, scale=4, bias=bias), "argument 1 must be dict"),
            (lambda: method((self.pair, bias), self.table, scale=4, bias=bias), "argument 0\\[0\\] must be \\*, not tuple"),
        ):
            with self.assertRaisesRegex(TypeError, sentence):
                act()

    def test_numbers_and_texts_that_export_fixed(self):
        method = self.load("scalars")  # (ones(2), 3, 0.5, True, None, "text")
        x = np.ones(2, np.float32)
        first = method(x, 3, 0.5, True, None, "text")
        self.assertIsNotNone(first)
        for wrong in ((4, 0.5, True, None, "text"), (3, 0.25, True, None, "text"), (3, 0.5, False, None, "text"), (3, 0.5, True, None, "other")):
            with self.assertRaisesRegex(fidibus.Error, "was fixed to"):
                method(x, *wrong)

    @unittest.skipUnless(torch, "needs torch")
    def test_containers_of_the_users_own(self):
        torch.export.register_dataclass(Box, serialized_type_name="fidibus.tests.Box")

        class Model(torch.nn.Module):
            def forward(self, box, rest):
                return Box(box.low + 1, box.high * 2, "out"), collections.OrderedDict(z=rest[0][0], a=None), [rest[1]["k"], ()]

        x = torch.ones(2)
        args = (Box(x, x + 1, "in"), ((x + 2,), {"k": x + 3}))
        exported = torch.export.export(Model(), args)
        with tempfile.TemporaryDirectory() as folder:
            torch.export.save(exported, f"{folder}/boxes.pt2")
            fidibus.compile(f"{folder}/boxes.pt2", f"{folder}/boxes.pte")
            method = fidibus.Runtime.get().load_program(f"{folder}/boxes.pte").load_method("forward")
        box, table, listed = method(*args)
        self.assertIsInstance(box, Box)
        torch.testing.assert_close((box.low, box.high), (x + 1, 2 * (x + 1)))
        self.assertEqual(box.label, "out")
        self.assertIsInstance(table, collections.OrderedDict)
        self.assertEqual(list(table), ["z", "a"])
        torch.testing.assert_close(listed[0], x + 3)
        self.assertEqual(listed[1], ())

        from fidibus import containers  # and without the class

        text = method._texts[1].replace("fidibus.tests.Box", "elsewhere.Box")
        made = containers.unflatten(containers.parse(text), text, method.execute(containers.flatten_call(method._input_tree, args, {})))
        torch.testing.assert_close(made[0].low, x + 1)
        self.assertEqual(made[0]["label"], "out")


class LoadTest(Programs):
    def check(self, data):
        program = fidibus.Runtime.get().load_program(data)
        self.assertEqual(program.method_names, {"forward"})
        np.testing.assert_array_equal(program.load_method("forward").execute([X])[0], LINEAR_OF_X)

    def test_from_paths_bytes_and_files(self):
        path = self.compile("linear")
        self.check(path)
        self.check(str(path))
        data = path.read_bytes()
        for holder in (data, bytearray(data), memoryview(data), io.BytesIO(data)):
            self.check(holder)
        with open(path, "rb") as file:
            self.check(file)

    def test_metadata(self):
        meta = fidibus.Runtime.get().load_program(self.compile("linear")).metadata("forward")
        self.assertEqual((meta.name(), meta.num_inputs(), meta.num_outputs()), ("forward", 1, 1))
        given, made = meta.input_tensor_meta(0), meta.output_tensor_meta(0)
        self.assertEqual((given.sizes(), given.dtype(), given.nbytes(), given.dynamic), ((1, 3), "float32", 12, False))
        self.assertEqual((made.sizes(), made.dtype(), made.nbytes()), ((1, 2), "float32", 8))
        self.assertGreater(meta.memory_planned_bytes(), 0)
        self.assertTrue(fidibus.Runtime.get().load_program(self.compile("dynamic")).metadata("forward").input_tensor_meta(0).dynamic)

    def test_damaged_programs(self):
        data = self.compile("linear").read_bytes()
        for damaged, part in ((data[:-1], "cut short"), (b"", ""), (data[:4] + b"ET99" + data[8:], 'found "ET99"'), (b"PK" * 50, "ET12")):
            with self.assertRaisesRegex(fidibus.Error, part):
                fidibus.Runtime.get().load_program(damaged)
        with self.assertRaisesRegex((fidibus.Error, OSError), "nowhere.pte"):
            fidibus.Runtime.get().load_program("nowhere.pte")

    def test_a_method_that_is_not_there(self):
        with self.assertRaisesRegex(fidibus.Error, 'no method "backward".*"forward"'):
            fidibus.Runtime.get().load_program(self.compile("linear")).load_method("backward")

    def test_operators(self):
        names = fidibus.Runtime.get().operator_registry.operator_names
        self.assertIn("aten::add.Tensor", names | {n.replace("add.out", "add.Tensor") for n in names})
        self.assertGreater(len(names), 200)


class ExecuteTest(Programs):
    def test_numpy_in_numpy_out(self):
        method = self.load("linear")
        (y,) = method.execute([X])
        self.assertIsInstance(y, np.ndarray)
        np.testing.assert_array_equal(y, LINEAR_OF_X)
        np.testing.assert_array_equal(method(X), LINEAR_OF_X)
        np.testing.assert_array_equal(method.execute((X,))[0], LINEAR_OF_X)

    def test_any_strides(self):
        method = self.load("linear")
        column = np.array([[1], [2], [3]], np.float32)
        wide = np.array([[1, 9, 2, 9, 3, 9]], np.float32)
        back = np.array([[3, 2, 1]], np.float32)
        for x in (column.T, wide[:, ::2], back[:, ::-1], np.asfortranarray(X), np.broadcast_to(X, (1, 3))):
            np.testing.assert_array_equal(method.execute([x])[0], LINEAR_OF_X)

    def test_outputs_keep_their_values_after_the_next_run(self):
        method = self.load("linear")
        first = method.execute([X])[0]
        method.execute([X * 0])
        np.testing.assert_array_equal(first, LINEAR_OF_X)

    def test_live_sizes(self):
        method = self.load("dynamic")
        for batch in (2, 5, 16, 3):
            x, y = np.ones((batch, 8), np.float32), np.full((2 * batch, 8), 2, np.float32)
            out = method.execute([x, y])[0]
            np.testing.assert_array_equal(out, np.concatenate([x.reshape(batch * 2, -1), y.reshape(-1, 4)]))

    def test_state_and_reset(self):
        method = self.load("counter")
        x = np.array([3, 4], np.int64)
        calls = [method.execute([x])[0].tolist() for _ in range(2)]
        method.reset()
        calls.append(method.execute([x])[0].tolist())
        self.assertEqual(calls, [[4, 6], [5, 8], [4, 6]])

    def test_two_methods(self):
        path = self.compile({"scale": ARCHIVES / "linear.pt2", "count": ARCHIVES / "counter.pt2"})
        program = fidibus.Runtime.get().load_program(path)
        self.assertEqual(program.method_names, {"scale", "count"})
        np.testing.assert_array_equal(program.load_method("scale").execute([X])[0], LINEAR_OF_X)
        np.testing.assert_array_equal(program.load_method("count").execute([np.array([3, 4])])[0], [4, 6])

    def test_a_method_outlives_its_program(self):
        program = fidibus.Runtime.get().load_program(self.compile("linear").read_bytes())
        method = program.load_method("forward")
        del program
        np.testing.assert_array_equal(method.execute([X])[0], LINEAR_OF_X)

    def test_an_output_outlives_its_method(self):
        y = self.load("linear").execute([X])[0]
        np.testing.assert_array_equal(y, LINEAR_OF_X)

    def test_plain_values(self):
        method = self.load("scalars")
        pair = np.array([1, 2], np.float32)
        np.testing.assert_array_equal(method.execute([pair, 3, 0.5, True, None, "text"])[0], [3.5, 6.5])
        with self.assertRaisesRegex(fidibus.Error, "input 1 was fixed to 3"):
            method.execute([pair, 4, 0.5, True, None, "text"])
        np.testing.assert_array_equal(self.load("live_int").execute([pair, 7])[0], [8, 9])

    def test_wrong_inputs_say_which_and_why(self):
        method = self.load("linear")
        wrong = [
            ([X.astype(np.float64)], "input 0 is float64, the method takes float32"),
            ([X[0]], "input 0 has rank 1, the method takes rank 2"),
            ([np.zeros((1, 4), np.float32)], "input 0 has size 4 in dimension 1, the method takes 3"),
            ([], "takes 1 input"),
            ([X, X], "takes 1 input"),
            ([None], "input 0 is none"),
            ([3], "input 0 is an int"),
        ]
        for inputs, part in wrong:
            with self.subTest(part), self.assertRaises(fidibus.Error) as caught:
                method.execute(inputs)
            self.assertIn(part, str(caught.exception))
        with self.assertRaises((TypeError, fidibus.Error)):
            method.execute([object()])
        np.testing.assert_array_equal(method.execute([X])[0], LINEAR_OF_X)  # and it still works

    def test_threads(self):
        program = fidibus.Runtime.get().load_program(self.compile("linear"), threads=2)
        np.testing.assert_array_equal(program.load_method("forward").execute([X])[0], LINEAR_OF_X)


class DataTest(Programs):
    """Weights outside the program, state, and methods that only return a constant."""

    def outside(self, archive="linear", **options):
        data = pathlib.Path(self.folder.name) / f"{self.id()}-{archive}.ptd"
        return self.compile(archive, external_weights=data, **options), data

    def run_linear(self, program, data):
        return fidibus.Runtime.get().load_program(program, data_path=data).load_method("forward").execute([X])[0]

    def test_weights_beside_the_program(self):
        program, data = self.outside()
        self.assertGreater(self.report["data_bytes"], 0)
        np.testing.assert_array_equal(self.run_linear(program, data), LINEAR_OF_X)
        np.testing.assert_array_equal(self.run_linear(program, data.read_bytes()), LINEAR_OF_X)
        with self.assertRaisesRegex(fidibus.Error, "lies outside the program, and no data file is given"):
            self.run_linear(program, None)
        with self.assertRaisesRegex(TypeError, "PathLike"):
            self.run_linear(program, [3])

    def test_programs_share_a_file_and_later_files_count(self):
        program, data = self.outside()
        _, tuned = self.outside("tuned")
        program, data = self.outside()
        base, other = fidibus.DataFile(data), fidibus.DataFile(tuned)
        self.assertEqual(base.keys(), ["layer.bias", "layer.weight:rows"])
        np.testing.assert_array_equal(base["layer.bias"], np.array([0.5, -0.5], np.float32))
        with self.assertRaises(KeyError):
            base["layer.weight"]
        for _ in range(2):
            np.testing.assert_array_equal(self.run_linear(program, [base]), LINEAR_OF_X)
        np.testing.assert_array_equal(self.run_linear(program, [base, other]), np.array([[-7.5, -26.5]], np.float32))
        np.testing.assert_array_equal(self.run_linear(program, [other, base]), LINEAR_OF_X)

    def test_damaged_data(self):
        _, data = self.outside()
        for cut in (0, 8, 60, len(data.read_bytes()) - 1):
            with self.assertRaises(fidibus.Error):
                fidibus.DataFile(data.read_bytes()[:cut])

    def test_state_is_saved_and_loaded(self):
        program, path = fidibus.Runtime.get().load_program(self.compile("counter")), f"{self.folder.name}/{self.id()}.ptd"
        method, ticks = program.load_method("forward"), np.array([3, 4])
        method.execute([ticks])
        method.save_state(path)
        (name,) = method.state()
        np.testing.assert_array_equal(method.state()[name], [1, 2])
        np.testing.assert_array_equal(method.execute([ticks])[0], [5, 8])
        method.load_state(path)
        np.testing.assert_array_equal(method.execute([ticks])[0], [5, 8])
        method.reset()
        np.testing.assert_array_equal(method.execute([ticks])[0], [4, 6])

    def test_methods_share_buffers_when_asked(self):
        archives = {name: ARCHIVES / f"cache_{name}.pt2" for name in ("fill", "read")}
        for share, expected in ((True, [8, 100]), (False, [3, 30])):
            program = fidibus.Runtime.get().load_program(self.compile(archives, share_buffers=share))
            program.load_method("fill").execute([np.array([0]), np.array([[5, 7]], np.float32)])
            np.testing.assert_array_equal(program.load_method("read").execute([np.ones(2, np.float32)])[0], expected)

    def test_constant_methods(self):
        constants = {"n": 2048, "eps": 1e-5, "yes": True, "name": "llama", "nested": [1, (2.5, {"a": "x"})], "table": np.arange(4)[::2]}
        program = fidibus.Runtime.get().load_program(self.compile("linear", constant_methods=constants))
        self.assertEqual(program.method_names, {"forward", *constants})
        for name, expected in (("n", [2048]), ("eps", [1e-5]), ("yes", [True]), ("name", ["llama"]), ("nested", [1, 2.5, "x"])):
            self.assertEqual(program.load_method(name).execute([]), expected)
        np.testing.assert_array_equal(program.load_method("table").execute([])[0], [0, 2])
        for wrong in (None, [1, None], object()):
            with self.assertRaises(TypeError):
                self.compile("linear", constant_methods={"wrong": wrong})


@unittest.skipUnless(torch, "needs torch")
class TorchTest(Programs):
    def model(self):
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).eval()

    def lower(self, model, *inputs, **options):
        return fidibus.to_edge_transform_and_lower(torch.export.export(model, inputs), **options)

    def test_the_port_is_the_import(self):
        model, x = self.model(), torch.randn(3, 4)
        path = pathlib.Path(self.folder.name) / "model.pte"
        self.lower(model, x).to_executorch().save(path)
        method = fidibus.Runtime.get().load_program(path).load_method("forward")
        (y,) = method.execute([x])
        self.assertIsInstance(y, torch.Tensor)
        torch.testing.assert_close(y, model(x))

    def test_buffer_and_write_to_file(self):
        program = self.lower(self.model(), torch.randn(3, 4)).to_executorch()
        file = io.BytesIO()
        program.write_to_file(file)
        self.assertEqual(file.getvalue(), program.buffer)
        self.assertEqual(program.buffer[4:8], b"ET12")
        with self.assertRaisesRegex(ValueError, "does not end in .pte"):
            program.save("model.bin")

    def test_methods_by_name(self):
        model, x = self.model(), torch.randn(3, 4)
        exported = {name: torch.export.export(part, (x,)) for name, part in (("whole", model), ("first", model[0]))}
        program = fidibus.Runtime.get().load_program(fidibus.to_edge_transform_and_lower(exported).to_executorch().buffer)
        self.assertEqual(program.method_names, {"whole", "first"})
        torch.testing.assert_close(program.load_method("whole").execute([x])[0], model(x))
        torch.testing.assert_close(program.load_method("first").execute([x])[0], model[0](x))

    def test_tensors_of_every_kind(self):
        model = self.model()
        method = fidibus.Runtime.get().load_program(self.lower(model, torch.randn(3, 4)).to_executorch().buffer).load_method("forward")
        base = torch.randn(4, 3)
        for x in (base.t(), torch.randn(3, 8)[:, ::2], torch.randn(3, 4, requires_grad=True), torch.randn(1, 4).expand(3, 4)):
            torch.testing.assert_close(method.execute([x])[0], model(x).detach())

    def test_weights_in_files_and_constants_by_upstreams_names(self):
        model = torch.nn.Linear(3, 2)
        exported = torch.export.export(model, (torch.ones(1, 3),))
        chosen = {
            "_default_external_constant": True,
            "weights": lambda node: "weights" if node.target == "p_weight" else None,
        }
        for name, external in chosen.items():
            edge = fidibus.to_edge_transform_and_lower(exported, constant_methods={"n": 3})
            self.assertEqual(edge.config_methods, {"n"})
            program = edge.to_executorch(fidibus.ExecutorchBackendConfig(external_constants=external))
            program.write_tensor_data_to_file(self.folder.name)
            loaded = fidibus.Runtime.get().load_program(program.buffer, data_path=f"{self.folder.name}/{name}.ptd")
            self.assertEqual(loaded.load_method("n").execute([]), [3])
            (y,) = loaded.load_method("forward").execute([torch.ones(1, 3)])
            torch.testing.assert_close(y, model(torch.ones(1, 3)))

    def test_delegates(self):
        x = torch.randn(3, 4)
        for partitioner, delegates in ((fidibus.XnnpackPartitioner(), 1), (fidibus.XnnpackPartitioner(per_op_mode=True), 2)):
            model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.Sigmoid()).eval()
            program = fidibus.to_edge_transform_and_lower(torch.export.export(model, (x,)), partitioner=[partitioner]).to_executorch()
            self.assertEqual(program.report["delegates"], delegates)
            (y,) = fidibus.Runtime.get().load_program(program.buffer).load_method("forward").execute([x])
            torch.testing.assert_close(y, model(x))
        with self.assertRaisesRegex(NotImplementedError, "DYNAMIC_QUANT"):
            fidibus.XnnpackPartitioner(config_precisions=["DYNAMIC_QUANT"])

    def test_a_foreign_partitioner(self):
        with self.assertRaisesRegex(TypeError, "is no partitioner of fidibus"):
            self.lower(self.model(), torch.randn(3, 4), partitioner=[object()])

    def test_what_is_not_supported_is_refused(self):
        with self.assertRaisesRegex(NotImplementedError, "transform_passes"):
            self.lower(self.model(), torch.randn(3, 4), transform_passes=[lambda graph: graph])


if __name__ == "__main__":
    unittest.main()
