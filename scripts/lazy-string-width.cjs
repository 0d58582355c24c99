// Stands in for `fast-string-truncated-width` in the bundled command; see build.mjs. Its expressions for the scripts and symbols
// of Unicode take a millisecond to make, and commands that print only ASCII do not need them.
let measure;

module.exports = (...words) => {
  measure ??= require("fast-string-truncated-width").default;
  return measure(...words);
};
