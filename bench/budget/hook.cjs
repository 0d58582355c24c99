// Preload this into a program to write down what it does until its first request to a model leaves, until it starts a process
// with a certain word, or until it ends.
// JP_BENCH_HOOK has the file to write to, where to stop, and whether to record a profile. Coverage is written up to the same
// moment, where NODE_V8_COVERAGE says.
// It uses what Node's own modules are built on, so that it loads none of them.
"use strict";

const { report, until, isProfiled } = JSON.parse(process.env.JP_BENCH_HOOK);
const isCovered = process.env.NODE_V8_COVERAGE !== undefined;
// Not for the processes that it starts.
delete process.env.JP_BENCH_HOOK;
delete process.env.NODE_V8_COVERAGE;

const startedAt = process.uptime() * 1e3; // `performance` would load a module.
const files = [];
const processes = [];
const addons = [];
const syncs = [];
const stats = [];
const reads = [];

const endProfile = isProfiled ? startProfile() : undefined;
const modulesBefore = new Set(process.moduleLoadList);
const O_CREATE_AND_REPLACE = 0o1101;
let found;

watchFiles();
watchProcesses();
if (until === "request") watchRequests();
process.on("exit", () => {
  stop("exit");
  process.binding("fs").writeFileUtf8(report, JSON.stringify(found), O_CREATE_AND_REPLACE, 0o600);
});

function stop(reason) {
  if (found !== undefined) return;
  const modules = process.moduleLoadList.filter((name) => !modulesBefore.has(name));
  found = { reason, startedAt, files, processes, addons, syncs, stats, reads, modules };
  found = structuredClone({ ...found, profile: endProfile?.() }); // As of now.
  if (isCovered) require("node:v8").takeCoverage();
}

/** Returns a function that ends it, and returns it. */
function startProfile() {
  const { Session } = require("node:inspector");
  const session = new Session();
  session.connect();
  const post = (method, params) => {
    let result;
    // It calls back before it returns.
    session.post(method, params, (error, value) => {
      if (error) throw new Error(error.message);
      result = value;
    });
    return result;
  };
  post("Profiler.enable");
  post("Profiler.setSamplingInterval", { interval: 100 });
  post("Profiler.start");
  return () => post("Profiler.stop").profile;
}

function watchFiles() {
  const fs = process.binding("fs");
  const paths = ["open", "openFileHandle", "readFileUtf8", "writeFileUtf8", "readdir", "copyFile"];
  for (const name of paths) {
    // A file that is open already has a number instead.
    replace(fs, name, ([file]) => typeof file === "number" || files.push(String(file)));
  }
  for (const name of ["fsync", "fdatasync"]) {
    replace(fs, name, ([number]) => syncs.push(nameOf(number)));
  }
  for (const name of ["stat", "lstat", "fstat"]) {
    replace(fs, name, ([file]) =>
      stats.push(typeof file === "number" ? nameOf(file) : String(file)),
    );
  }
  replace(fs, "read", undefined, (bytes, [number]) => reads.push({ file: nameOf(number), bytes }));
  replace(process, "dlopen", ([, file]) => addons.push(file));
}

/** Of an open file. */
function nameOf(number) {
  return process.binding("fs").readlink(`/proc/self/fd/${number}`, "utf8");
}

function watchProcesses() {
  replace(process.binding("process_wrap").Process.prototype, "spawn", noteProcess);
  replace(process.binding("spawn_sync"), "spawn", noteProcess);
}

/** Newer versions of Node pass several values instead of one object. */
function noteProcess([first, words]) {
  const all = typeof first === "object" ? first.args : (words ?? [first]);
  processes.push(all);
  if (all.some((word) => word.endsWith(until))) stop(until);
}

function watchRequests() {
  const { prototype } = process.binding("tcp_wrap").TCP;
  const names = [
    "writeUtf8String",
    "writeLatin1String",
    "writeAsciiString",
    "writeBuffer",
    "writev",
  ];
  for (const name of names) {
    replace(prototype, name, ([, data]) => {
      const first = Array.isArray(data) ? data[0] : data;
      const text = first?.chunk ?? first;
      if (String(text).startsWith("POST ")) stop("request");
    });
  }
}

/** `watch` gets the arguments before the call, `note` what was returned, too. */
function replace(object, name, watch, note) {
  const original = object[name];
  if (original === undefined) throw new Error(`This Node has no ${name}.`);
  object[name] = function (...args) {
    if (found === undefined) watch?.(args);
    const returned = Reflect.apply(original, this, args);
    if (found === undefined) note?.(returned, args);
    return returned;
  };
}
