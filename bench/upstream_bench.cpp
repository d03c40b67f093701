// Times a .pte program with upstream's own C++ runtime, no Python in the process: upstream_bench PROGRAM THREADS SECONDS MIN-RUNS INPUT.npy...
// Prints one JSON object like the other workers (worker.py).
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <executorch/extension/module/module.h>
#include <executorch/extension/tensor/tensor.h>

// The wheel has the library but not this header.
namespace executorch::extension::threadpool {
class ThreadPool {
 public:
  bool _unsafe_reset_threadpool(uint32_t threads);
};
ThreadPool* get_threadpool();
}  // namespace executorch::extension::threadpool

using executorch::aten::ScalarType;
using executorch::extension::from_blob;
using executorch::extension::Module;
using executorch::extension::TensorPtr;

static double now_ms() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

[[noreturn]] static void fail(const std::string& what) {
  std::fprintf(stderr, "upstream_bench: %s\n", what.c_str());
  std::exit(1);
}

static long status_kib(const char* key) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.rfind(key, 0) == 0) return std::atol(line.c_str() + std::strlen(key) + 1);
  return 0;
}

// An array of version 1, C order, little-endian: what numpy.save writes.
struct Array {
  std::string bytes;
  std::vector<executorch::aten::SizesType> sizes;
  ScalarType type;
  TensorPtr tensor() { return from_blob(bytes.data(), sizes, type); }
};

static Array read_array(const char* path) {
  std::ifstream file(path, std::ios::binary);
  std::string all((std::istreambuf_iterator<char>(file)), {});
  if (all.size() < 10) fail(std::string("cannot read ") + path);
  size_t header = static_cast<uint8_t>(all[8]) + 256 * static_cast<uint8_t>(all[9]);
  std::string text = all.substr(10, header);
  Array array{all.substr(10 + header), {}, ScalarType::Float};
  if (text.find("<i8") != std::string::npos) array.type = ScalarType::Long;
  else if (text.find("|b1") != std::string::npos) array.type = ScalarType::Bool;
  else if (text.find("<f4") == std::string::npos) fail(std::string(path) + " is neither float32, int64 nor bool");
  size_t open = text.find('('), close = text.find(')');
  std::stringstream list(text.substr(open + 1, close - open - 1));
  for (std::string item; std::getline(list, item, ',');)
    if (item.find_first_of("0123456789") != std::string::npos) array.sizes.push_back(std::atoi(item.c_str()));
  return array;
}

static void run(Module& module, std::vector<Array>& arrays) {
  std::vector<TensorPtr> tensors;
  std::vector<executorch::runtime::EValue> inputs;
  for (auto& array : arrays) tensors.push_back(array.tensor());
  for (auto& tensor : tensors) inputs.emplace_back(tensor);
  auto result = module.forward(inputs);
  if (!result.ok()) fail("the run failed with error " + std::to_string(static_cast<int>(result.error())));
}

int main(int argc, char** argv) {
  if (argc < 5) fail("usage: PROGRAM THREADS SECONDS MIN-RUNS INPUT.npy...");
  double budget = 1e3 * std::atof(argv[3]);
  size_t least = std::strtoul(argv[4], nullptr, 10);
  std::vector<Array> arrays;
  for (int i = 5; i < argc; i++) arrays.push_back(read_array(argv[i]));
  executorch::extension::threadpool::get_threadpool()->_unsafe_reset_threadpool(std::atoi(argv[2]));
  long base = status_kib("VmRSS");
  double start = now_ms();
  Module module(argv[1], Module::LoadMode::Mmap);
  if (module.load_method("forward") != executorch::runtime::Error::Ok) fail("the program does not load");
  double loaded = now_ms();
  run(module, arrays);
  double first = now_ms();
  std::printf("{\"load_ms\": %.4f, \"first_ms\": %.4f, \"times_ms\": [", loaded - start, first - loaded);
  for (size_t count = 0; count < least || now_ms() - first < budget; count++) {
    double before = now_ms();
    run(module, arrays);
    std::printf("%s%.4f", count ? ", " : "", now_ms() - before);
  }
  std::printf("], \"rss_bytes\": %ld}\n", 1024 * (status_kib("VmHWM") - base));
}
