import { readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { install, makeFolder, pack, ROOT, run, runOrThrow, type Tarball } from "./tarball.ts";

const folder = makeFolder();
const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};
/** Each entry with the name that imports it. */
const ENTRIES = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === "string" ? [] : [{ name: path.join("jp-ts", name), file: target.default }],
);
/** On an idle machine this takes half a minute, but the machine may be busy and the registry slow. */
const TIMEOUT_MS = 180_000;
let tarball: Tarball;

beforeAll(async () => {
  tarball = await pack(folder);
}, TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }), TIMEOUT_MS);

describe("the package", { timeout: TIMEOUT_MS }, () => {
  test("contains the command, the library, the schema and the documents", () => {
    const others = tarball.contents.filter(
      (file) => !/^dist\/bin\/[\w-]+\.cjs$|^dist\/lib\/[\w/-]+\.(?:js|d\.ts)$/.test(file),
    );
    expect(others.toSorted()).toEqual([
      "CHANGELOG.md",
      "LICENSE",
      "README.md",
      "dist/bin/THIRD-PARTY-NOTICES.txt",
      "dist/bin/help.txt",
      "package.json",
      "schema/config.schema.json",
    ]);
  });

  test("contains no library file that nothing imports", () => {
    const modules = tarball.contents
      .filter((file) => file.startsWith("dist/lib/"))
      .map((file) => file.replace(/\.(?:js|d\.ts)$/, ""));
    const imported = importedFrom(ENTRIES.map(({ file }) => path.join(file.replace(/\.js$/, ""))));
    expect([...new Set(modules)].toSorted()).toEqual([...imported].toSorted());
  });

  test("has types that every ESM resolution finds", async () => {
    // ESM only: `require` and node10 resolution are not supported.
    const { status, stdout } = await run("attw", [tarball.file, "--profile", "esm-only"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('"jp-ts"') });
  });
});

describe("the package in an empty project", { timeout: TIMEOUT_MS }, () => {
  let project: string;
  let oldest: string;

  beforeAll(async () => {
    // The script knows the oldest supported Node, and downloads it if needed.
    const bootstrap = path.join(ROOT, "scripts", "bootstrap.mjs");
    const words = [bootstrap, "--oldest-node", "node", "-p", "process.execPath"];
    oldest = path.dirname((await runOrThrow("node", words)).trim());
    project = await install(tarball.file, folder);
    const lines = ENTRIES.map(({ name }, index) => `export * as entry${index} from "${name}";`);
    writeFileSync(path.join(project, "entries.ts"), `${lines.join("\n")}\n`);
  }, TIMEOUT_MS);

  test.each([
    ["with Node's resolution, checking every declaration", ["--module", "nodenext"]],
    [
      "with a bundler's resolution",
      ["--module", "preserve", "--moduleResolution", "bundler", "--skipLibCheck"],
    ],
  ])("type-checks %s", async (_title, resolution) => {
    const strict = ["--strict", "--exactOptionalPropertyTypes"];
    const words = ["--noEmit", "--target", "es2024", ...strict, ...resolution];
    const found = await run("tsc", [...words, "main.ts", "entries.ts"], { cwd: project });
    expect(found).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("can be tested on the oldest supported Node", async () => {
    expect(await runOrThrow("node", ["--version"], { node: oldest })).toMatch(/^v22\./);
  });

  describe.each(["this Node", "the oldest Node"])("on %s", (which) => {
    const home = path.join(folder, which.replaceAll(" ", "-"));
    const options = () => ({
      cwd: project,
      variables: { HOME: home, TMPDIR: folder, JP_USER_DATA_DIR: home },
      ...(which === "the oldest Node" && { node: oldest }),
    });
    /** As `npx jp` runs it: through its first line, on the first Node in PATH. */
    const jp = (...words: readonly string[]) =>
      run(path.join(project, "node_modules", ".bin", "jp"), words, options());

    test("the library runs a turn that the command can list", async () => {
      const quiet = "--disable-warning=ExperimentalWarning"; // About type stripping.
      const loaded = await run("node", [quiet, "entries.ts"], options());
      const turn = await run("node", [quiet, "main.ts", project], options());
      const listed = await jp("inquiry", "ls", "--format", "json");
      const [line = ""] = listed.stdout.split("\n").slice(-2);
      expect({ loaded, turn, inquiry: JSON.parse(line) as unknown }).toEqual({
        loaded: { status: 0, stdout: "", stderr: "" },
        turn: {
          status: 0,
          stdout: '{"type":"done","text":"Done.","results":["1.4 is on test"]}\n',
          stderr: "",
        },
        inquiry: expect.objectContaining({
          outcome: "answered",
          answer: "test",
          answered_by: { kind: "user", channel: "consumer" },
        }),
      });
    });

    test("the command prints its version and help, and runs the tour", async () => {
      const [version, help, tour] = [await jp("--version"), await jp("--help"), await jp("demo")];
      expect({ version, help, tour }).toEqual({
        version: { status: 0, stdout: `jp ${manifest.version}\n`, stderr: "" },
        help: { status: 0, stdout: expect.stringMatching(/^Usage: jp /), stderr: "" },
        tour: {
          status: 0,
          stdout: expect.stringContaining("<redacted> (you, via file)"),
          stderr: expect.stringContaining("sign()"),
        },
      });
    });
  });
});

/** All modules that these import, in the code and in the declarations. */
function importedFrom(entries: readonly string[]): ReadonlySet<string> {
  const imported = new Set(entries);
  for (const module of imported) {
    for (const suffix of [".js", ".d.ts"]) {
      const code = readFileSync(path.join(ROOT, module + suffix), "utf8");
      for (const [, target = ""] of code.matchAll(
        /(?:from |import |import\()"(\.[^"]+)\.[jt]s"/g,
      )) {
        imported.add(path.join(path.dirname(module), target));
      }
    }
  }
  return imported;
}
