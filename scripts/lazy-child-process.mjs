// Stands in for `node:child_process` in the bundled commander; see build.mjs.
export default {
  spawn: (...args) => process.getBuiltinModule("node:child_process").spawn(...args),
};
