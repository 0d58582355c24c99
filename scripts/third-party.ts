/**
 * Other people's code in the bundles: which licences are fine, the texts to ship, and the bill of materials. Packages may
 * contain code of others again, which no lock file lists: `nested-code.json` does, for the versions that a person has
 * looked at.
 */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import path from "node:path";

/** `nested-code.json`. */
export interface Review {
  /** The version of each bundled package that was searched for code of others. */
  readonly reviewed: Readonly<Record<string, string>>;
  readonly nested: readonly ReviewedCode[];
}

interface ReviewedCode extends Identity {
  /** Packages whose files name this code, or single files that contain it without naming it. */
  readonly in: readonly string[];
  /** How a file names it, if that is not its name and version. */
  readonly mark?: string;
}

interface Identity {
  /** As in a package URL. */
  readonly type: "npm" | "cargo" | "github";
  readonly name: string;
  readonly version: string;
  /** An SPDX expression. */
  readonly license: string;
}

/** A package in the bundles. */
export interface ThirdParty extends Identity {
  readonly text: string;
  /** Packages that it came inside of. Empty if the bundler took it from its own folder. */
  readonly within: readonly string[];
  /** Its own folder, as in a lock file. */
  readonly folder?: string;
}

/** An entry of a lock file. */
export interface LockEntry {
  readonly version: string;
  readonly license?: string;
  readonly integrity?: string;
  readonly dev?: boolean;
}

export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

const FINE = new Set(["Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unlicense"]);
const OUR_LICENCE = "Apache License, Version 2.0: see the file LICENSE of jp-ts.";
const MIT = `Permission is hereby granted, free of charge, to any person obtaining a copy of this software and
associated documentation files (the "Software"), to deal in the Software without restriction, including
without limitation the rights to use, copy, modify, merge, publish, distribute, sublicense, and/or sell
copies of the Software, and to permit persons to whom the Software is furnished to do so, subject to the
following conditions:

The above copyright notice and this permission notice shall be included in all copies or substantial
portions of the Software.

THE SOFTWARE IS PROVIDED "AS IS", WITHOUT WARRANTY OF ANY KIND, EXPRESS OR IMPLIED, INCLUDING BUT NOT
LIMITED TO THE WARRANTIES OF MERCHANTABILITY, FITNESS FOR A PARTICULAR PURPOSE AND NONINFRINGEMENT. IN NO
EVENT SHALL THE AUTHORS OR COPYRIGHT HOLDERS BE LIABLE FOR ANY CLAIM, DAMAGES OR OTHER LIABILITY, WHETHER
IN AN ACTION OF CONTRACT, TORT OR OTHERWISE, ARISING FROM, OUT OF OR IN CONNECTION WITH THE SOFTWARE OR THE
USE OR OTHER DEALINGS IN THE SOFTWARE.`;

/** Splits a path into a package's folder, its name, and the file below it. */
const PACKAGE_FILE = /^(.*\bnode_modules\/((?:@[^/]+\/)?[^/]+))\/(.+)$/;
/** How a bundler names the package that a piece of code came from: `node_modules/.pnpm/ajv@8.18.0/node_modules/ajv/`. */
const NPM_MARK =
  /node_modules\/(?:\.pnpm\/[^/\s"]+?@(\d[^/_(\s"]*)[^/\s"]*\/node_modules\/)?((?:@[\w.-]+\/)?[\w.-]+)\//g;
/** How the Rust compiler does: `index.crates.io-1949cf8c6b5b557f/serde_json-1.0.140/`. */
const CRATE_MARK =
  /(?:index\.crates\.io-[0-9a-f]+|\/rust\/deps)\/([\w-]+?)-(\d+\.\d+\.\d+[\w.+-]*)\//g;
const RUST_MARK = /\/rustc\/([0-9a-f]{40})\//g;

/**
 * Everything that the bundled files contain, by name. Throws if a package has not been reviewed in its version, if a file
 * names code that the review does not list, or if a licence is not known to be fine.
 */
export function findThirdParty(
  files: readonly string[],
  review: Review,
  licences: string,
): readonly ThirdParty[] {
  const bundled = [...new Set(files)].flatMap((file) => {
    const [, folder, owner, rest] = PACKAGE_FILE.exec(path.relative("", file)) ?? [];
    return folder === undefined || owner === undefined || rest === undefined
      ? []
      : [{ file, folder, owner, rest }];
  });
  const packages = [...new Set(bundled.map(({ folder }) => folder))].map(readPackage);
  const marks = bundled.flatMap(({ file, owner }) =>
    marksIn(file).flatMap((mark) => (mark.name === owner ? [] : [{ ...mark, owner, file }])),
  );

  const nested = review.nested.map((code) => {
    const within = code.in.flatMap((place) => {
      const owner = bundled.find(({ owner: name, rest }) => place === `${name}/${rest}`)?.owner;
      const isMarked = marks.some((mark) => mark.owner === place && isMarkOf(mark, code));
      return owner ?? (isMarked ? place : []);
    });
    return { code, within: [...new Set(within)] };
  });
  assertReviewed([
    ...packages
      .filter(({ name, version }) => review.reviewed[name] !== version)
      .map(({ name, version }) => `${name} ${version}`),
    ...marks
      .filter((mark) => !review.nested.some((code) => isMarkOf(mark, code) && isIn(mark, code)))
      .map(({ name, version = "", file }) => `${name} ${version} in ${path.relative("", file)}`),
  ]);

  const all = [
    ...packages,
    ...nested.flatMap(({ code: { type, name, version, license }, within }) => {
      if (within.length === 0) return [];
      const identity: Identity = { type, name, version, license };
      const own = packages.find((one) => one.name === name);
      return [{ ...identity, within, text: nestedText(identity, licences, own) }];
    }),
  ];
  assertFineLicences(all.map(({ name, license }) => [name, license]));
  return all.toSorted(
    (a, b) => a.name.localeCompare(b.name, "en") || a.within.length - b.within.length,
  );
}

/** Throws if one of these is not known to be fine. An expression is fine if one of its alternatives is. */
export function assertFineLicences(
  licences: readonly (readonly [name: string, license?: string])[],
): void {
  const doubtful = licences
    .filter(([, license = ""]) => !license.split(" OR ").some((one) => FINE.has(one)))
    .map(([name, license = "none stated"]) => `${name}: ${license}`);
  if (doubtful.length === 0) return;
  throw new Error(
    `Look at these licences, and add what is fine to scripts/third-party.ts:\n${doubtful.join("\n")}`,
  );
}

/** The licence texts to ship. */
export function noticesOf(packages: readonly ThirdParty[]): string {
  return packages
    .map(({ name, version, license, within, text }) => {
      const place = within.length === 0 ? "" : `, inside ${within.join(" and ")}`;
      return `${name} ${version} (${license})${place}\n\n${text}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/**
 * The bill of materials, as CycloneDX 1.6 in JSON: what is bundled, and the packages that npm installs with it. It has no
 * time and no serial number, so that the same code gives the same file.
 */
export function sbomOf(
  { name, version, license }: Manifest,
  packages: readonly ThirdParty[],
  lock: Readonly<Record<string, LockEntry>>,
): object {
  const root = purlOf({ type: "npm", name, version });
  const bundled = packages.map((one) => componentOf(one, hashesOf(lock[one.folder ?? ""])));
  const installed = installedEntries(lock).map(([folder, entry]) =>
    componentOf(
      {
        type: "npm",
        name: folder.replace(/^.*node_modules\//, ""),
        version: entry.version,
        license: entry.license ?? "",
      },
      { scope: "optional", ...hashesOf(entry) },
    ),
  );
  const own = packages.filter(({ within }) => within.length === 0);
  const direct = [...own.map(purlOf), ...installed.map(({ purl }) => purl)];
  const inside = (owner: string) =>
    packages.filter(({ within }) => within.includes(owner)).map(purlOf);
  return {
    $schema: "http://cyclonedx.org/schema/bom-1.6.schema.json",
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    version: 1,
    metadata: {
      component: {
        type: "application",
        "bom-ref": root,
        name,
        version,
        purl: root,
        licenses: [{ license: { id: license } }],
      },
    },
    components: [...new Map([...bundled, ...installed].map((one) => [one.purl, one])).values()],
    dependencies: [
      { ref: root, dependsOn: [...new Set(direct)] },
      ...own.flatMap((owner) => {
        const dependsOn = inside(owner.name);
        return dependsOn.length === 0 ? [] : [{ ref: purlOf(owner), dependsOn }];
      }),
    ],
  };
}

/** Packages that npm installs with ours: the binaries. */
export function installedEntries(
  lock: Readonly<Record<string, LockEntry>>,
): readonly (readonly [folder: string, entry: LockEntry])[] {
  return Object.entries(lock).filter(([folder, { dev }]) => folder !== "" && dev !== true);
}

function componentOf(identity: Identity, others: object) {
  const { type, name, version, license } = identity;
  const purl = purlOf({ type, name, version });
  const [, group, rest] = /^@?([^/]+)\/(.+)$/.exec(name) ?? [];
  return {
    type: "library",
    "bom-ref": purl,
    ...(group === undefined
      ? { name }
      : { group: type === "npm" ? `@${group}` : group, name: rest }),
    version,
    purl,
    licenses: [license.includes(" OR ") ? { expression: license } : { license: { id: license } }],
    ...others,
  };
}

function hashesOf(entry: LockEntry | undefined): object {
  const [, base64] = /^sha512-(.+)$/.exec(entry?.integrity ?? "") ?? [];
  if (base64 === undefined) return {};
  return { hashes: [{ alg: "SHA-512", content: Buffer.from(base64, "base64").toString("hex") }] };
}

function purlOf({ type, name, version }: Pick<Identity, "type" | "name" | "version">): string {
  return `pkg:${type}/${name.replace("@", "%40")}@${encodeURIComponent(version)}`;
}

function readPackage(folder: string): ThirdParty {
  const { name, version, license, author, homepage } = JSON.parse(
    readFileSync(path.join(folder, "package.json"), "utf8"),
  ) as Manifest & { readonly author?: string; readonly homepage?: string };
  const text = textsIn(folder) ?? textFor(license, author, homepage);
  return { type: "npm", name, version, license, text, within: [], folder };
}

function textsIn(folder: string): string | undefined {
  const files = readdirSync(folder).filter((file) => /^(?:licen[cs]e|copying|notice)/i.test(file));
  if (files.length === 0) return undefined;
  return files.map((file) => readFileSync(path.join(folder, file), "utf8").trim()).join("\n\n");
}

/** For a package without a licence file. */
function textFor(license: string, author = "", homepage = ""): string {
  if (license === "Apache-2.0") return `${OUR_LICENCE} ${homepage}`.trim();
  if (license === "MIT") return `Copyright (c) ${author}\n\n${MIT}`;
  throw new Error(`There is no text of the licence ${license} for ${homepage}.`);
}

/** In the folder of licences, or with the package itself if that is bundled too, in any version. */
function nestedText({ name, license }: Identity, licences: string, bundled?: ThirdParty): string {
  const file = path.join(licences, `${name.replace(/^.*\//, "")}.txt`);
  if (existsSync(file)) return readFileSync(file, "utf8").trim();
  if (bundled !== undefined) return bundled.text;
  if (license.split(" OR ").includes("Apache-2.0")) return OUR_LICENCE;
  throw new Error(`Add the licence of ${name} to ${licences}.`);
}

interface Mark {
  readonly name: string;
  readonly version?: string | undefined;
}

/** Code of others that a file names, in comments, in the sources of its map, or in the messages of a panic. */
function marksIn(file: string): readonly Mark[] {
  if (file.endsWith(".wasm")) {
    const text = readFileSync(file, "latin1");
    return [
      ...[...text.matchAll(CRATE_MARK)].map(([, name = "", version]) => ({ name, version })),
      ...[...text.matchAll(RUST_MARK)].map(([, commit = ""]) => ({ name: commit })),
    ];
  }
  const map = existsSync(`${file}.map`)
    ? (JSON.parse(readFileSync(`${file}.map`, "utf8")) as { readonly sources: readonly string[] })
    : { sources: [] };
  const comments = readFileSync(file, "utf8").match(/^\s*(?:\/\/|\/\*).*node_modules\/.*$/gm) ?? [];
  return [...comments, ...map.sources].flatMap((text) =>
    // The last one: a path may lead through several.
    [...text.matchAll(NPM_MARK)].slice(-1).map(([, version, name = ""]) => ({ name, version })),
  );
}

function isMarkOf({ name, version }: Mark, code: ReviewedCode): boolean {
  if (code.mark !== undefined) return name === code.mark;
  return name === code.name && (version === undefined || version === code.version);
}

function isIn({ owner }: { readonly owner: string }, { in: places }: ReviewedCode): boolean {
  return places.some((place) => place === owner || place.startsWith(`${owner}/`));
}

function assertReviewed(unknown: readonly string[]): void {
  if (unknown.length === 0) return;
  throw new Error(
    "Look for code of others inside these, list it in scripts/nested-code.json with its licence, and set the reviewed " +
      `version there:\n${[...new Set(unknown)].join("\n")}`,
  );
}
