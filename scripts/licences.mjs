// The licences of other people's code: which ones are fine, and the texts to ship with a bundle.
import { readdirSync, readFileSync } from "node:fs";
import path from "node:path";

const FINE = new Set(["Apache-2.0", "BSD-3-Clause", "ISC", "MIT", "MIT-0", "Unlicense"]);

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

/** Throws if one of these entries of a lock file has a licence that is not known to be fine. */
export function assertFineLicences(packages) {
  const doubtful = packages
    .filter(([, { license }]) => !FINE.has(license))
    .map(([folder, { license = "none stated" }]) => `${folder}: ${license}`);
  if (doubtful.length === 0) return;
  throw new Error(
    `Look at these licences, and add what is fine to scripts/licences.mjs:\n${doubtful.join("\n")}`,
  );
}

/** The licence texts of the packages in these folders. */
export function noticesOf(folders) {
  return folders
    .map((folder) => {
      const { name, version, license, author, homepage } = JSON.parse(
        readFileSync(path.join(folder, "package.json"), "utf8"),
      );
      const files = readdirSync(folder).filter((file) =>
        /^(?:licen[cs]e|copying|notice)/i.test(file),
      );
      const texts = files.map((file) => readFileSync(path.join(folder, file), "utf8").trim());
      if (texts.length === 0) texts.push(textFor(license, author, homepage));
      return `${name} ${version} (${license})\n\n${texts.join("\n\n")}\n`;
    })
    .join(`\n${"-".repeat(80)}\n\n`);
}

/** For a package without a licence file. */
function textFor(license, author, homepage) {
  if (license === "Apache-2.0") return `See the file LICENSE of jp-ts, and ${homepage}`;
  if (license === "MIT") return `Copyright (c) ${author}\n\n${MIT}`;
  throw new Error(`There is no text of the licence ${license} for ${homepage}.`);
}
