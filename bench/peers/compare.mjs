// SPDX-License-Identifier: MIT
// Usage: node compare.mjs LANNER SIZE [--threads N] [--rounds N] [--isa avx2|avx512] [--library haswell|zen4]
//                         [--peers llama:q4_0,ik:q4_k,...] [--ik FOLDER] [--tests pp512,pp512all,tg32@128,tg32@128x8]
//                         [--models DIR] [--cpu-time]
// Runs lanner and its peers in turns on the same random weights of one released size ("qwen3.5-0.8b", "gemma4-e2b") and
// prints medians, lanner's ratio to each peer and, of decode, its share of what the machine read in the same minute; every
// turn's speeds go to the error stream. pp512all takes all rows of a prompt through all layers. Peers are llama (llama.cpp;
// needs `npm install --ignore-scripts` in this folder) and ik (ik_llama.cpp, its source in FOLDER, built as shared libraries
// in FOLDER/build), with the type of their weights. Models and drivers are kept in DIR (default: models/). --library picks
// llama.cpp's (default: as --isa). --cpu-time counts the processor's seconds: for one thread on a busy machine.
import { execFileSync, spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import readline from "node:readline";

const here = path.dirname(new URL(import.meta.url).pathname);
const [lanner, size, ...rest] = process.argv.slice(2);
const options = {
  threads: "2", rounds: "5", isa: "avx2", library: "", peers: "llama:q4_0", ik: "", tests: "pp512,tg32@128,tg32@128x8",
  models: path.join(here, "models"),
};
for (let i = 0; i < rest.length; ++i) {
  const name = rest[i].replace(/^--/, "");
  if (name === "cpu-time") options.cpuTime = true;
  else if (name in options) options[name] = rest[++i];
  else throw new Error(`unknown option ${rest[i]}`);
}
const models = path.resolve(options.models);
const folder = path.join(models, size);
const libraries = path.join(here, "node_modules/@node-llama-cpp/linux-x64/bins/linux-x64");

function run(program, ...args) {
  return execFileSync(program, args, { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"], maxBuffer: 1 << 26 });
}

function compile(driver, source, libraryFolder, objects, ...flags) {
  if (fs.existsSync(driver)) return;
  run("g++", "-O1", "-std=c++17", `-I${source}/include`, `-I${source}/ggml/include`, ...flags, path.join(here, "llama_bench.cpp"),
    "-o", driver, ...objects, `-Wl,-rpath,${libraryFolder}`, "-Wl,--allow-shlib-undefined");
}

/// The driver of an engine and the library it loads.
const drivers = {
  llama() {
    const driver = path.join(models, "llama_bench");
    const source = path.join(models, "llama.cpp");
    const library = (start) => path.join(libraries, fs.readdirSync(libraries).find((name) => name.startsWith(start)));
    if (!fs.existsSync(source)) run("git", "clone", "-q", path.join(here, "node_modules/node-llama-cpp/llama/gitRelease.bundle"), source);
    compile(driver, source, libraries, ["libllama.v", "libggml.v", "libggml-base"].map(library));
    return [driver, path.join(libraries, `libggml-cpu-${options.library || (options.isa === "avx2" ? "haswell" : "zen4")}.so`)];
  },
  ik() {
    if (!options.ik) throw new Error("ik needs --ik FOLDER");
    const driver = path.join(models, "ik_bench");
    const built = ["src/libllama.so", "ggml/src/libggml.so"].map((name) => path.join(path.resolve(options.ik), "build", name));
    compile(driver, path.resolve(options.ik), built.map(path.dirname).join(":"), built, "-DLANNER_PEER_IK");
    return [driver, "built-in"];
  },
};

/// A peer with its model loaded once; run(test) gives tokens per second.
function startPeer(name) {
  const [engine, type] = name.split(":");
  const gguf = path.join(models, `${size}.${type}.gguf`);
  if (!fs.existsSync(gguf)) run("node", path.join(here, "write_gguf.mjs"), folder, gguf, type);
  const [driver, library] = drivers[engine]();
  const child = spawn(driver, [library, gguf, options.threads, options.cpuTime ? "processor" : "elapsed"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = readline.createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    name,
    run: async (test) => {
      child.stdin.write(`${test.replace("all", "")}\n`);
      for (;;) {
        const { value, done } = await lines.next();
        if (done) throw new Error(`${name} ended during ${test}`);
        if (value.startsWith("{")) return JSON.parse(value).tokens_per_second;
      }
    },
    stop: () => child.stdin.end(),
  };
}

/// Tokens per second and, of decode, the share of the bound.
function runLanner(test) {
  const [, prompt, all] = test.match(/^pp(\d+)(all)?$/) ?? [];
  const [, decode, depth, sequences] = test.match(/^tg(\d+)@(\d+)(?:x(\d+))?$/) ?? [];
  const args = ["bench", folder, "-p", prompt ?? "0", "-n", decode ?? "0", "-d", depth ?? "0", "-b", sequences ?? "1", "-r", "3",
    "-t", options.threads, "--isa", options.isa, "--compute", "int8", "-o", "json"];
  if (all) args.push("--all-rows");
  if (options.cpuTime) args.push("--cpu-time");
  else if (decode) args.push("--roofline");
  const result = JSON.parse(run(lanner, ...args)).tests[0];
  return [result.tokens_per_second, result.share_of_bound ?? NaN];
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

fs.mkdirSync(models, { recursive: true });
if (!fs.existsSync(folder)) run(lanner, "synth", size, folder, "--bits", "4", "--group", "64");
const peers = options.peers.split(",").map(startPeer);
console.log(`${size}, ${options.threads} threads, ${options.isa}, medians of ${options.rounds} in turns${options.cpuTime ? ", processor time" : ""}\n\n` +
  `| test | lanner tok/s | of bound | ${peers.map(({ name }) => `${name} | ratio |`).join(" ")}\n|---|---:|---:|${"---:|".repeat(2 * peers.length)}`);
for (const test of options.tests.split(",")) {
  const ours = [];
  const theirs = peers.map(() => []);
  for (let round = 0; round < Number(options.rounds); ++round) {
    ours.push(runLanner(test));
    for (const [i, peer] of peers.entries()) theirs[i].push(await peer.run(test));
    console.error(`${test}, turn ${round + 1}: ${[ours.at(-1)[0], ...theirs.map((speeds) => speeds.at(-1))].join(" ")}`);
  }
  const speed = median(ours.map(([value]) => value));
  const share = median(ours.map(([, value]) => value));
  console.log(`| ${test} | ${speed.toFixed(2)} | ${Number.isNaN(share) ? "" : `${(100 * share).toFixed(0)} %`} | ` +
    `${theirs.map((speeds) => `${median(speeds).toFixed(2)} | ${(speed / median(speeds)).toFixed(2)} |`).join(" ")}`);
}
for (const peer of peers) peer.stop();
