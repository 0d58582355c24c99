import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
    globalSetup: ["test/support/test-programs.ts"],
    pool: "threads",
    isolate: false,
    maxWorkers: 3,
    testTimeout: 30_000,
  },
});
