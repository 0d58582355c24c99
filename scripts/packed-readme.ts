/**
 * `packed-readme.ts write` makes the links and the picture of the README absolute, for readers who have only the package, and
 * `packed-readme.ts restore` puts the README back. npm packs the one in the folder, so there is no other way. While package.json
 * names no `repository`, the links stay as they are.
 */
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import process from "node:process";

interface Manifest {
  readonly version: string;
  readonly repository?: string | { readonly url: string };
}

const README = "README.md";
/** The README as it was. */
const KEPT = ".README.kept.md";

if (process.argv[1] === import.meta.filename) {
  if (existsSync(KEPT)) renameSync(KEPT, README); // Also if packing was stopped half-way.
  if (process.argv[2] === "write") write();
}

function write(): void {
  const before = readFileSync(README, "utf8");
  const manifest = JSON.parse(readFileSync("package.json", "utf8")) as Manifest;
  const after = withAbsoluteLinks(before, manifest);
  if (after === before) return;
  writeFileSync(KEPT, before);
  writeFileSync(README, after);
}

/** Links lead to the tag of this version. */
export function withAbsoluteLinks(markdown: string, { version, repository }: Manifest): string {
  const root = findWebAddress(repository);
  if (root === undefined) return markdown;
  return markdown.replaceAll(
    /(!?)\[([^\]]*)\]\((?![a-z]+:|#)([^)\s]+)\)/g,
    (_, picture: string, text: string, target: string) => {
      const kind = picture === "" ? "blob" : "raw";
      return `${picture}[${text}](${root}/${kind}/v${version}/${path.posix.normalize(target)})`;
    },
  );
}

/** `https://github.com/owner/name`, from any form that npm takes for a repository on GitHub. */
function findWebAddress(repository: Manifest["repository"]): string | undefined {
  const given = typeof repository === "string" ? repository : repository?.url;
  if (given === undefined || given === "") return undefined;
  const [, short] = /^(?:github:)?([\w.-]+\/[\w.-]+)$/.exec(given) ?? [];
  const address = short === undefined ? given : `https://github.com/${short}`;
  return address
    .replace(/^git\+/, "")
    .replace(/^(?:ssh:\/\/)?git@([^:/]+)[:/]/, "https://$1/")
    .replace(/\.git$/, "");
}
