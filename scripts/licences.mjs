// Fails if something that is installed with the package has a licence that is not known to be fine.
import { readFileSync } from "node:fs";
import process from "node:process";

const FINE = new Set([
  "Apache-2.0",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "(AFL-2.1 OR BSD-3-Clause)",
  "PSF-2.0",
]);

const { packages } = JSON.parse(readFileSync(new URL("../package-lock.json", import.meta.url)));
const shipped = Object.entries(packages).filter(([name, { dev }]) => name !== "" && dev !== true);
const doubtful = shipped.filter(([, { license }]) => !FINE.has(license));
for (const [name, { license = "none stated" }] of doubtful) console.error(`${name}: ${license}`);
if (doubtful.length > 0) {
  console.error("Look at these licences, and add what is fine to scripts/licences.mjs.");
  process.exit(1);
}
console.log(`${shipped.length} packages, all with a licence that is fine`);
