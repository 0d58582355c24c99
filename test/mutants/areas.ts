/** The areas that can be mutated: their sources, and the tests that should notice a mistake there. */

export interface Area {
  /** Folders and files of the source. */
  readonly sources: readonly string[];
  /** Tests for each mutant, beside those in `sources`. */
  readonly near?: readonly string[];
  /** Slower tests, for mutants that survive the first. */
  readonly far: readonly string[];
}

export const AREAS: Readonly<Record<string, Area>> = {
  judge: {
    sources: ["src/record/conversation/judge.ts"],
    near: [
      "src/record/conversation/decision.test.ts",
      "src/proof/terms.test.ts",
      "src/core/agent/route.test.ts",
      "src/core/agent/void-decisions.test.ts",
      "src/assemble/quorum.test.ts",
      "src/assemble/role.test.ts",
      "src/assemble/signed.test.ts",
    ],
    far: ["src/proof", "src/core/agent", "src/assemble", "test/agent/terms.property.test.ts"],
  },
  people: {
    sources: ["src/settings/people"],
    far: ["src/proof", "src/assemble", "src/surfaces/desk"],
  },
  policy: {
    sources: ["src/core/policy"],
    far: ["src/core/agent", "test/cli/permissions.test.ts", "test/fuzz/rules.test.ts"],
  },
  postgres: {
    sources: ["src/stores/postgres"],
    near: ["test/storage/postgres.test.ts", "test/storage/stores.test.ts"],
    far: [
      "test/storage/offers.test.ts",
      "test/storage/locks.test.ts",
      "test/storage/answer-races.test.ts",
      "test/cli/store.test.ts",
      "test/fleet/tenants.test.ts",
    ],
  },
  proof: {
    sources: ["src/proof"],
    far: ["test/cli/evidence.test.ts", "test/cli/anchor.test.ts"],
  },
  queue: {
    sources: [
      "src/assemble/worker.ts",
      "src/stores/postgres/hearing.ts",
      "src/stores/postgres/leases.ts",
      "src/stores/postgres/listening.ts",
      "src/stores/postgres/offers.ts",
      "src/stores/postgres/turn-state.ts",
      "src/stores/postgres/turn-work.ts",
      "src/stores/postgres/wake-ups.ts",
    ],
    near: ["src/assemble/worker.test.ts", "test/fleet/worker.test.ts", "test/fleet/limits.test.ts"],
    far: [
      "test/storage/postgres.test.ts",
      "test/storage/stores.test.ts",
      "test/fleet/command.test.ts",
    ],
  },
  shell: {
    sources: ["src/reach/shell"],
    near: ["test/shell/shell-run.test.ts", "test/shell/sandbox.test.ts"],
    far: [
      "test/shell/limits.test.ts",
      "test/shell/kernel.test.ts",
      "test/shell/sockets.test.ts",
      "test/shell/own-package.test.ts",
      "test/shell/own-programs.test.ts",
      "test/shell/git-attacks.test.ts",
      "test/shell/hostile-lines.test.ts",
      "src/core/policy",
    ],
  },
  undo: {
    sources: ["src/reach/undo"],
    near: ["test/cli/undo.test.ts"],
    far: ["test/undo", "src/core/agent/file-changes.test.ts", "test/agent/file-changes.test.ts"],
  },
};
