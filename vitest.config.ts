import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
    globalSetup: ["test/support/test-programs.ts"],
    // Not threads: a child process inherits the pseudo-terminals of all tests in this process, and one
    // that is still running would keep the terminal of another test from hanging up.
    pool: "forks",
    isolate: false,
    maxWorkers: 3,
    testTimeout: 30_000,
  },
});
