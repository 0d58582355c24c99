import { defineConfig } from "vitest/config";
import manifest from "./package.json" with { type: "json" };

/**
 * Suites that take long: kills, floods and torture, fuzzing, properties with real tools, the package on other versions of Node, the
 * suites on replies with other streams, most of the desk's page, MCP's reference server, records of an earlier version, the paths of
 * a question through the files, the examples, turns in a database that were put back, and the commands of the documentation typed one after the other.
 */
export const LONG = [
  "test/agent/killed-process.test.ts",
  "test/agent/records-at-07537306.test.ts",
  "test/agent/terms.property.test.ts",
  "test/agent/void-rounds.test.ts",
  "test/agent/void-tools.test.ts",
  "test/agent/void.property.test.ts",
  "test/day/day.test.ts",
  "test/day/first-hour.test.ts",
  "test/desk/accessibility.test.ts",
  "test/desk/deciding.test.ts",
  "test/desk/hostile.test.ts",
  "test/desk/keyboard.test.ts",
  "test/desk/passkey.test.ts",
  "test/desk/people.test.ts",
  "test/desk/phone.test.ts",
  "test/desk/question-types.test.ts",
  "test/desk/restart.test.ts",
  "test/desk/quorum-races.test.ts",
  "test/desk/races.test.ts",
  "test/desk/seen.test.ts",
  "test/examples.test.ts",
  "test/fleet/attacks.test.ts",
  "test/fleet/large-migration.test.ts",
  "test/fleet/step-back-command.test.ts",
  "test/fleet/step-back.test.ts",
  "test/mcp/conformance.test.ts",
  "test/mcp/endless.test.ts",
  "test/mcp/everything.test.ts",
  "test/policy/histories.test.ts",
  "test/policy/propose-figures.test.ts",
  "test/provider/light-streams.test.ts",
  "test/security/terminal.test.ts",
  "test/shell/break-out.property.test.ts",
  "test/shell/git-attacks.test.ts",
  "test/shell/hostile-lines.test.ts",
  "test/storage/answer-races.test.ts",
  "test/storage/busy-export.test.ts",
  "test/storage/torn-append.test.ts",
  "test/readme.test.ts",
  "test/undo/**/*.test.ts",
  "test/picture/picture.test.ts",
  "test/traced-paths.test.ts",
  "test/torture/**/*.test.ts",
  "test/fuzz/**/*.test.ts",
  "test/package/managers.test.ts",
  "test/package/tarball.test.ts",
];

// `npm test` runs the project `quick`, `npm run test:all` both.
export default defineConfig({
  define: { JP_VERSION: JSON.stringify(manifest.version) }, // As in the build.
  test: {
    globalSetup: ["test/support/test-programs.ts"],
    // Not threads: a child process inherits the pseudo-terminals of all tests in this process, and one
    // that is still running would keep the terminal of another test from hanging up.
    pool: "forks",
    isolate: false,
    maxWorkers: 3,
    // Only a guard against a test that hangs: a busy machine needs many times as long as a quiet one.
    testTimeout: 60_000,
    projects: [
      {
        extends: true,
        test: {
          name: "quick",
          include: ["src/**/*.test.ts", "test/**/*.test.ts", "bench/**/*.test.ts"],
          exclude: LONG,
        },
      },
      { extends: true, test: { name: "long", include: LONG } },
    ],
  },
});
