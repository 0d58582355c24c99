/** The suites on replies, with light streams: see `light-streams.test.ts`. */
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    setupFiles: ["test/provider/light-streams.setup.ts"],
    // In processes of their own: the streams are global.
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 30_000,
    include: ["abort", "bad-servers", "cut-replies", "failures", "replies"].map(
      (name) => `test/provider/${name}.test.ts`,
    ),
  },
});
