// A minimal list of conversations: title and last event of each, newest last.
import { closeSync, fstatSync, openSync, readdirSync, readFileSync, readSync } from "node:fs";

const folder = process.argv[2];
const rows = readdirSync(folder)
  .filter((name) => /^\d+(-|$)/.test(name))
  .map((name) => {
    const metadata = JSON.parse(readFileSync(`${folder}/${name}/metadata.json`, "utf8"));
    const fd = openSync(`${folder}/${name}/events.json`, "r");
    const { size } = fstatSync(fd);
    const bytes = Buffer.alloc(Math.min(size, 4096));
    readSync(fd, bytes, 0, bytes.length, size - bytes.length);
    closeSync(fd);
    const last =
      bytes
        .toString()
        .match(/"timestamp": "[^"]*"/g)
        ?.at(-1) ?? "";
    return { last, line: `${name.split("-")[0]}  ${last}  ${metadata.title}` };
  });
rows.sort((left, right) => (left.last < right.last ? -1 : 1));
console.log(rows.map(({ line }) => line).join("\n"));
