import { readFileSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { install, makeFolder, pack, ROOT, run, runWell, type Tarball } from "./tarball.ts";

const folder = makeFolder();
const manifest = JSON.parse(readFileSync(path.join(ROOT, "package.json"), "utf8")) as {
  readonly version: string;
  readonly exports: Readonly<Record<string, string | { readonly default: string }>>;
};
/** Each with a name to import it by. */
const ENTRIES = Object.entries(manifest.exports).flatMap(([name, target]) =>
  typeof target === "string" ? [] : [{ name: path.join("jp-ts", name), file: target.default }],
);
/** A machine may be busy, and the registry slow; alone, all of it takes half a minute. */
const LONG = 180_000;
let tarball: Tarball;

beforeAll(async () => {
  tarball = await pack(folder);
}, LONG);
afterAll(() => rm(folder, { recursive: true, force: true }), LONG);

describe("the package", { timeout: LONG }, () => {
  test("has the command, the library, and what there is to know about them", () => {
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

  test("has no file in its library that no import leads to", () => {
    const modules = tarball.contents
      .filter((file) => file.startsWith("dist/lib/"))
      .map((file) => file.replace(/\.(?:js|d\.ts)$/, ""));
    const reached = reachedFrom(ENTRIES.map(({ file }) => path.join(file.replace(/\.js$/, ""))));
    expect([...new Set(modules)].toSorted()).toEqual([...reached].toSorted());
  });

  test("has types that every way of resolving ES modules finds", async () => {
    // It is ESM only: what `require` of old and node10 do not find, they are not meant to.
    const { status, stdout } = await run("attw", [tarball.file, "--profile", "esm-only"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringContaining('"jp-ts"') });
  });
});

describe("installed in an empty project", { timeout: LONG }, () => {
  let project: string;
  let oldest: string;

  beforeAll(async () => {
    // What the oldest Node is, and whether it is here, is told by the script that puts it in place.
    const bootstrap = path.join(ROOT, "scripts", "bootstrap.mjs");
    const words = [bootstrap, "--oldest-node", "node", "-p", "process.execPath"];
    oldest = path.dirname((await runWell("node", words)).trim());
    project = await install(tarball.file, folder);
    const lines = ENTRIES.map(({ name }, index) => `export * as entry${index} from "${name}";`);
    writeFileSync(path.join(project, "entries.ts"), `${lines.join("\n")}\n`);
  }, LONG);

  test.each([
    ["as Node resolves modules, every declaration checked", ["--module", "nodenext"]],
    [
      "as bundlers resolve modules",
      ["--module", "preserve", "--moduleResolution", "bundler", "--skipLibCheck"],
    ],
  ])("it is typed, %s", async (_title, resolution) => {
    const strict = ["--strict", "--exactOptionalPropertyTypes"];
    const words = ["--noEmit", "--target", "es2024", ...strict, ...resolution];
    const found = await run("tsc", [...words, "main.ts", "entries.ts"], { cwd: project });
    expect(found).toEqual({ status: 0, stdout: "", stderr: "" });
  });

  test("it can be tried on the oldest Node that it is for", async () => {
    expect(await runWell("node", ["--version"], { node: oldest })).toMatch(/^v22\./);
  });

  describe.each(["this Node", "the oldest Node"])("on %s", (which) => {
    const home = path.join(folder, which.replaceAll(" ", "-"));
    const options = () => ({
      cwd: project,
      variables: { HOME: home, TMPDIR: folder, JP_USER_DATA_DIR: home },
      ...(which === "the oldest Node" && { node: oldest }),
    });
    /** As `npx jp` runs it: by its first line, on the first Node there is. */
    const jp = (...words: readonly string[]) =>
      run(path.join(project, "node_modules", ".bin", "jp"), words, options());

    test("the library is loaded, and runs a turn that the command reports", async () => {
      const quiet = "--disable-warning=ExperimentalWarning"; // Of the stripping of types.
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

    test("the command starts, helps, and gives its tour", async () => {
      const [told, help, tour] = [await jp("--version"), await jp("--help"), await jp("demo")];
      expect({ told, help, tour }).toEqual({
        told: { status: 0, stdout: `jp ${manifest.version}\n`, stderr: "" },
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

/** All modules that these lead to, by what runs and by what is declared. */
function reachedFrom(entries: readonly string[]): ReadonlySet<string> {
  const reached = new Set(entries);
  for (const module of reached) {
    for (const suffix of [".js", ".d.ts"]) {
      const code = readFileSync(path.join(ROOT, module + suffix), "utf8");
      for (const [, target = ""] of code.matchAll(
        /(?:from |import |import\()"(\.[^"]+)\.[jt]s"/g,
      )) {
        reached.add(path.join(path.dirname(module), target));
      }
    }
  }
  return reached;
}
