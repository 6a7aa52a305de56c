// SPDX-License-Identifier: MIT
// Usage: node compare.mjs LANNER SIZE [--threads N] [--rounds N] [--isa avx2|avx512] [--peer haswell|zen4]
//                         [--type q4_0|q4_1|q4_k] [--tests pp512,tg32@128,tg32@128x8] [--models DIR] [--cpu-time]
// Runs lanner and llama.cpp in turns on the same random weights of one released size ("qwen3.5-0.8b", "gemma4-e2b") and
// prints medians and ratios. Needs `npm install --ignore-scripts` in this folder (llama.cpp's libraries) and a C++ compiler.
// Models and the driver are kept in DIR (default: models/). --peer picks llama.cpp's library: haswell is AVX2, zen4 AVX-512
// with VNNI (default: as --isa). --cpu-time counts the processor's seconds: for one thread on a busy machine.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";

const here = path.dirname(new URL(import.meta.url).pathname);
const [lanner, size, ...rest] = process.argv.slice(2);
const options = {
  threads: "2", rounds: "5", isa: "avx2", peer: "", type: "q4_0", tests: "pp512,tg32@128,tg32@128x8", models: path.join(here, "models"),
};
for (let i = 0; i < rest.length; ++i) {
  const name = rest[i].replace(/^--/, "");
  if (name === "cpu-time") options.cpuTime = true;
  else if (name in options) options[name] = rest[++i];
  else throw new Error(`unknown option ${rest[i]}`);
}
const models = path.resolve(options.models);
const peer = options.peer || (options.isa === "avx2" ? "haswell" : "zen4");
const libraries = path.join(here, "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64");
const folder = path.join(models, size);
const gguf = path.join(models, `${size}.${options.type}.gguf`);
const driver = path.join(models, "llama_bench");
const source = path.join(models, "llama.cpp");

function run(program, ...args) {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
}

function prepare() {
  fs.mkdirSync(models, { recursive: true });
  if (!fs.existsSync(folder)) run(lanner, "synth", size, folder, "--bits", "4", "--group", "64");
  if (!fs.existsSync(gguf)) run("node", path.join(here, "write_gguf.mjs"), folder, gguf, options.type);
  if (!fs.existsSync(source))
    run("git", "clone", "-q", path.join(here, "node_modules/node-llama-cpp/llama/gitRelease.bundle"), source);
  if (fs.existsSync(driver)) return;
  const library = (start) => path.join(libraries, fs.readdirSync(libraries).find((name) => name.startsWith(start)));
  run("g++", "-O1", "-std=c++17", `-I${source}/include`, `-I${source}/ggml/include`, path.join(here, "llama_bench.cpp"), "-o", driver,
    library("libllama.v"), library("libggml.v"), library("libggml-base"), `-Wl,-rpath,${libraries}`, "-Wl,--allow-shlib-undefined");
}

function runLanner(test) {
  const [, prompt] = test.match(/^pp(\d+)$/) ?? [];
  const [, decode, depth, sequences] = test.match(/^tg(\d+)@(\d+)(?:x(\d+))?$/) ?? [];
  const args = ["bench", folder, "-p", prompt ?? "0", "-n", decode ?? "0", "-d", depth ?? "0", "-b", sequences ?? "1", "-r", "1",
    "-t", options.threads, "--isa", options.isa, "--compute", "int8", "-o", "json"];
  if (options.cpuTime) args.push("--cpu-time");
  return JSON.parse(run(lanner, ...args)).tests[0].tokens_per_second;
}

/// llama.cpp with the model loaded once; run(test) gives tokens per second.
function startLlama() {
  const backend = path.join(libraries, `libggml-cpu-${peer}.so`);
  const child = spawn(driver, [backend, gguf, options.threads, options.cpuTime ? "processor" : "elapsed"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    run: async (test) => {
      child.stdin.write(`${test}\n`);
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`llama_bench ended during ${test}`);
        if (value.startsWith("{")) return JSON.parse(value).tokens_per_second;
      }
    },
    stop: () => child.stdin.end(),
  };
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

prepare();
const llama = startLlama();
console.log(`${size}, ${options.threads} threads, ${options.isa} against ${peer}, ${options.type}, medians of ${options.rounds} in turns` +
  `${options.cpuTime ? ", processor time" : ""}\n\n| test | lanner tok/s | llama.cpp tok/s | ratio |\n|---|---:|---:|---:|`);
for (const test of options.tests.split(",")) {
  const ours = [];
  const theirs = [];
  for (let round = 0; round < Number(options.rounds); ++round) {
    ours.push(runLanner(test));
    theirs.push(await llama.run(test));
  }
  console.log(`| ${test} | ${median(ours).toFixed(2)} | ${median(theirs).toFixed(2)} | ${(median(ours) / median(theirs)).toFixed(2)} |`);
}
llama.stop();
