import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";
import { Validator } from "@cfworker/json-schema";
import { describe, expect, onTestFinished, test } from "vitest";
import { rm } from "node:fs/promises";
import { findThirdParty, type Review } from "../../scripts/third-party.ts";
import { makeFolder, ROOT } from "./tarball.ts";

interface Component {
  readonly group?: string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
  readonly licenses: readonly object[];
}

describe("the bill of materials", () => {
  const sbom = JSON.parse(read("dist/sbom.cdx.json")) as {
    readonly components: readonly Component[];
    readonly dependencies: readonly {
      readonly ref: string;
      readonly dependsOn: readonly string[];
    }[];
  };

  test("is valid CycloneDX 1.6", () => {
    const { valid, errors } = createValidator().validate(sbom);
    expect({ valid, errors }).toEqual({ valid: true, errors: [] });
  });

  test("is checked against a schema that finds mistakes", () => {
    const [first, ...others] = sbom.components;
    const wrong = { ...first, licenses: [{ license: { id: "MITT" } }] };
    expect(createValidator().validate({ ...sbom, components: [wrong, ...others] }).valid).toBe(
      false,
    );
  });

  test("lists the same packages as the notices, and the binaries that npm installs", () => {
    const notices = read("dist/THIRD-PARTY-NOTICES.txt").matchAll(
      /^(\S+) (\d\S*) \(.+\)(?:, inside .+)?$/gm,
    );
    const noticed = [...notices].map(([, name, version]) => `${name} ${version}`);
    const listed = sbom.components.map(
      ({ group, name, version }) => `${group === undefined ? "" : `${group}/`}${name} ${version}`,
    );
    const binaries = Object.entries(
      (JSON.parse(read("package.json")) as { optionalDependencies: Record<string, string> })
        .optionalDependencies,
    ).map((entry) => entry.join(" "));
    expect(listed.toSorted()).toEqual([...new Set([...noticed, ...binaries])].toSorted());
    expect(listed).toEqual(
      expect.arrayContaining([
        "ajv 8.18.0",
        "content-type 1.0.5",
        "fast-uri 3.1.8",
        "secure-json-parse 4.0.0",
        "serde_json 1.0.140",
      ]),
    );
  });

  test("says in which package the code of others is", () => {
    const engine = sbom.dependencies.find(({ ref }) => ref.startsWith("pkg:npm/minijinja-js@"));
    expect(engine?.dependsOn).toEqual(
      expect.arrayContaining(["pkg:cargo/minijinja@2.11.0", "pkg:github/rust-lang/rust@1.87.0"]),
    );
    const refs = new Set(sbom.components.map(({ purl }) => purl));
    const missing = sbom.dependencies
      .flatMap(({ dependsOn }) => dependsOn)
      .filter((ref) => !refs.has(ref));
    expect(missing).toEqual([]);
  });
});

describe("a build", () => {
  const AJV = {
    type: "npm",
    name: "ajv",
    version: "8.18.0",
    license: "MIT",
    in: ["outer"],
  } as const;
  const REVIEW: Review = { reviewed: { outer: "1.0.0" }, nested: [AJV] };
  const CODE =
    "//#region ../node_modules/.pnpm/ajv@8.18.0/node_modules/ajv/dist/core.js\nexport {};\n";

  test("takes a package and the code inside it that were reviewed", () => {
    expect(find(CODE, REVIEW)).toEqual(["ajv 8.18.0 inside outer", "outer 1.0.0"]);
  });

  test.each<[string, string, Review, string]>([
    ["a version that was not", CODE, { ...REVIEW, reviewed: { outer: "0.9.0" } }, "outer 1.0.0"],
    ["code inside a package that was not", CODE, { ...REVIEW, nested: [] }, "ajv 8.18.0 in "],
    ["another version of that code", CODE.replaceAll("8.18.0", "8.19.0"), REVIEW, "ajv 8.19.0 in "],
    [
      "code that is named without a version",
      "// node_modules/left-pad/index.js\n",
      REVIEW,
      "left-pad  in ",
    ],
    [
      "a licence that is not known to be fine",
      CODE,
      { ...REVIEW, nested: [{ ...AJV, license: "GPL-3.0-only" }] },
      "ajv: GPL-3.0-only",
    ],
  ])("fails for %s", (_title, code, review, message) => {
    expect(() => find(code, review)).toThrow(message);
  });

  test("fails for a crate in WebAssembly that was not reviewed", () => {
    const crate =
      "\0asm /home/x/.cargo/registry/src/index.crates.io-1949cf8c6b5b557f/ryu-1.0.20/src/lib.rs";
    expect(() => find(crate, REVIEW, "engine.wasm")).toThrow("ryu 1.0.20 in ");
  });
});

/** What a file of a package named `outer` contains. */
function find(code: string, review: Review, name = "index.js"): readonly string[] {
  const root = makeFolder();
  onTestFinished(() => rm(root, { recursive: true }));
  const folder = path.join(root, "node_modules", "outer");
  mkdirSync(folder, { recursive: true });
  const manifest = { name: "outer", version: "1.0.0", license: "MIT", author: "A" };
  writeFileSync(path.join(folder, "package.json"), JSON.stringify(manifest));
  writeFileSync(path.join(folder, name), code);
  const found = findThirdParty(
    [path.join(folder, name)],
    review,
    path.join(ROOT, "scripts", "licences"),
  );
  return found.map(({ name: one, version, within }) =>
    [one, version, ...within.map((owner) => `inside ${owner}`)].join(" "),
  );
}

function createValidator(): Validator {
  const require = createRequire(import.meta.url);
  const library = path.dirname(require.resolve("@cyclonedx/cyclonedx-library/package.json"));
  const schema = (name: string) =>
    JSON.parse(
      readFileSync(path.join(library, "res/schema", `${name}.SNAPSHOT.schema.json`), "utf8"),
    ) as object;
  const validator = new Validator(schema("bom-1.6"), "7", false);
  for (const name of ["spdx", "jsf-0.82"]) {
    validator.addSchema(schema(name), `http://cyclonedx.org/schema/${name}.SNAPSHOT.schema.json`);
  }
  return validator;
}

function read(file: string): string {
  return readFileSync(path.join(ROOT, file), "utf8");
}
