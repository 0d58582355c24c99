import {
  chmodSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import path from "node:path";
import { describe, expect, test } from "vitest";
import { counters } from "../../../test/security/threats.ts";
import { temporaryFolder } from "../../stores/temporary-workspace.fixture.ts";
import { describeAttachments, type LoadAttachmentsOptions } from "./load.ts";
import { loadAttachments } from "./load-attachments.ts";

const PNG = Buffer.from("89504e470d0a1a0a0000000d49484452", "hex");
const NO_FILES = { acceptsFile: () => false };
const PDF = Buffer.from("%PDF-1.7\n\xe2\xe3");

/** A folder with these files. */
function folderWith(files: Readonly<Record<string, string | Buffer>>): string {
  const root = path.join(temporaryFolder(), "root");
  mkdirSync(root);
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), content);
  }
  return root;
}

/** The sources, and what was said about them. */
async function load(
  root: string,
  uris: readonly string[],
  options: Partial<LoadAttachmentsOptions> = {},
) {
  const notes: string[] = [];
  const variables = { PATH: process.env["PATH"] };
  const onNote = (note: string) => void notes.push(note);
  const attachments = await loadAttachments(uris, { root, variables, onNote, ...options });
  return { sources: attachments.map(({ source }) => source), attachments, notes };
}

describe("a file", () => {
  test("is attached as text, without a byte order mark", async () => {
    const root = folderWith({ "a b.txt": "\uFEFFhello" });
    const { attachments } = await load(root, ["file:///a%20b.txt"]);
    expect(attachments).toEqual([{ source: "a b.txt", content: "hello" }]);
  });

  test.each([
    ["image/png", PNG],
    ["image/jpeg", Buffer.from("ffd8ffe0", "hex")],
    ["image/gif", Buffer.from("GIF89a")],
    ["image/webp", Buffer.from("RIFF0000WEBPVP8 ")],
    ["application/pdf", PDF],
  ])("is attached as %s by its bytes, whatever its name", async (mediaType, bytes) => {
    const root = folderWith({ "x.txt": bytes });
    const { attachments } = await load(root, ["file:///x.txt"]);
    const content = { mediaType, data: bytes.toString("base64"), filename: "x.txt" };
    expect(attachments).toEqual([{ source: "x.txt", content }]);
  });

  test.each([
    ["Latin-1", "Gr\xf6\xdfe: 5 \xb5m\r\n\tna\xefve", "Größe: 5 µm\r\n\tnaïve"],
    ["Windows-1252", "5 \x80 \x96 \x93so\x94", "5 € – “so”"],
  ])("in %s is attached as text that says so", async (_encoding, written, content) => {
    const root = folderWith({ "a.txt": Buffer.from(written, "latin1") });
    const description = "read as Windows-1252 (Latin-1), because it is not UTF-8";
    for (const uri of ["a.txt", "*.txt"]) {
      const { attachments, notes } = await load(root, [uri]);
      expect([attachments, notes]).toEqual([
        [{ source: "a.txt", content, description }],
        [`a.txt: ${description}.`],
      ]);
    }
  });

  test.each([
    ["it has zero bytes", Buffer.from("caf\xe9 and more text\0", "latin1")],
    ["it has control characters", Buffer.from("caf\xe9 and more \x02 text", "latin1")],
    ["it has bytes without a meaning", Buffer.from("caf\xe9 and more \x81 text", "latin1")],
    ["it is Cyrillic", Buffer.from("\xcf\xf0\xe8\xe2\xe5\xf2, \xec\xe8\xf0", "latin1")],
    ["it is UTF-8 with an error", Buffer.from("na\xc3\xafve and \xff", "latin1")],
    ["it is UTF-16", Buffer.from("\uFEFFhello", "utf16le")],
  ])("is not taken for Latin-1 if %s", async (_why, bytes) => {
    const root = folderWith({ "x.txt": bytes });
    await expect(load(root, ["x.txt"])).rejects.toThrow(/x\.txt: neither text, nor a PNG/);
  });

  test("is refused by name if it is binary, or if the model does not take it", async () => {
    const root = folderWith({ "x.zip": Buffer.from([80, 75, 0, 255]), "a.png": PNG });
    await expect(load(root, ["file:///x.zip"])).rejects.toThrow(/x\.zip: neither text, nor a PNG/);
    await expect(load(root, ["file:///a.png"], NO_FILES)).rejects.toThrow(
      "Cannot attach a.png: the model does not accept image/png.",
    );
  });

  test.each([
    ["it does not exist", "file:///none.md", /none\.md: it does not exist/],
    ["it is Git's", "file:///.git/config", /protected/],
    ["it is jp's", "file:///.jp/config.toml", /protected/],
    ["it is above the root", "file:///../outside.txt", /outside the workspace/],
    ["a link leads out", "file:///link.txt", /outside the workspace through a symbolic link/],
    ["it has another name elsewhere", "file:///hard.txt", /hard link/],
  ])("is refused if %s", async (_why, uri, problem) => {
    const root = folderWith({ ".git/config": "x", ".jp/config.toml": "x" });
    const outside = path.join(root, "..", "outside.txt");
    writeFileSync(outside, "secret");
    symlinkSync(outside, path.join(root, "link.txt"));
    linkSync(outside, path.join(root, "hard.txt"));
    await expect(load(root, [uri])).rejects.toThrow(problem);
  });

  test("is attached with a note if it is named, even if it may hold secrets", async () => {
    const { sources, notes } = await load(folderWith({ ".env": "KEY=1" }), ["file:///.env"]);
    expect([sources, notes]).toEqual([
      [".env"],
      [".env may contain passwords or keys. The model will see it."],
    ]);
  });

  test.each(["notes.md", "docs/config", ".env/", ".env/.", "file:///.env%2F"])(
    "is not attached under a name that looks harmless if it may hold secrets: %s",
    async (uri) => {
      counters("T-WORK-4");
      const root = folderWith({ ".env": "KEY=x", ".aws/config": "key" });
      symlinkSync(".env", path.join(root, "notes.md"));
      symlinkSync(".aws", path.join(root, "docs"));
      await expect(load(root, [uri])).rejects.toThrow(
        /it is \.(?:env|aws\/config), which may contain passwords or keys/,
      );
    },
  );

  test("is refused with its size if it is too large", async () => {
    const root = folderWith({ "big.txt": "x".repeat(11_000_000) });
    await expect(load(root, ["file:///big.txt"])).rejects.toThrow(/big\.txt: it is 11 MB/);
  });
});

const TREE = {
  "a.md": "a",
  "src/b.ts": "b",
  "src/deep/c.ts": "c",
  "src/deep/c.test.ts": "t",
  "src/logo.png": PNG,
  "src/data.bin": Buffer.from([0, 1]),
  "src/.hidden": "h",
  "src/server.pem": "key",
  "src/out/built.ts": "x",
  "src/deep/.gitignore": "/built/\n",
  "src/deep/built/d.ts": "x",
  "node_modules/dep/index.ts": "x",
  ".gitignore": "out/\n",
  ".github/ci.yml": "y",
};

describe("folders and patterns", () => {
  test.each([
    [["file:///src"], ["src/b.ts", "src/logo.png", "src/deep/c.test.ts", "src/deep/c.ts"]],
    [["file:///src/**/*.ts"], ["src/b.ts", "src/deep/c.test.ts", "src/deep/c.ts"]],
    [
      ["file:///src/**/*.ts", "file:///**/*.test.ts?exclude=true"],
      ["src/b.ts", "src/deep/c.ts"],
    ],
    [
      ["file:///src", "file:///src/deep?exclude"],
      ["src/b.ts", "src/logo.png"],
    ],
    [["file:///*.md"], ["a.md"]],
    [
      ["*.md", "src/b.ts"],
      ["a.md", "src/b.ts"],
    ],
    [["file:///.github"], [".github/ci.yml"]],
    [["file:///.*/*.yml"], [".github/ci.yml"]],
    [["file:///src/b.ts", "file:///src/*.ts"], ["src/b.ts"]],
  ])("attach what is neither hidden, ignored nor excluded: %j", async (uris, expected) => {
    const { sources } = await load(folderWith(TREE), uris);
    expect(sources).toEqual(expected);
  });

  test.each(["x/a\nb", '"x'])(
    "leave out what is secret or excluded in a folder whose name is quoted in messages: %j",
    async (name) => {
      counters("T-ATT-3");
      const root = folderWith({
        [`${name}/credentials.json`]: "key",
        [`${name}/notes.md`]: "notes",
        [`${name}/out.log`]: "log",
      });
      symlinkSync(path.join(name, "credentials.json"), path.join(root, "harmless.txt"));
      const { sources } = await load(root, ["file:///**/*", "file:///**/*.log?exclude"]);
      await expect(load(root, ["file:///harmless.txt"])).rejects.toThrow("may contain passwords");
      expect(sources).toEqual([JSON.stringify(`${name}/notes.md`)]);
    },
  );

  test("leave out what no model takes and what may be secret, and say so", async () => {
    const { notes } = await load(folderWith(TREE), ["file:///src"], NO_FILES);
    expect(notes).toEqual([
      "src: left out src/server.pem (may contain secrets)",
      "src: left out src/data.bin (neither text, nor a PNG, JPEG, GIF or WebP image, nor a PDF)",
      "src: left out src/logo.png (the model does not accept image/png)",
    ]);
  });

  test("are an error without a file", async () => {
    const root = folderWith({ "empty/.keep": "" });
    await expect(load(root, ["file:///empty"])).rejects.toThrow(
      /empty: the folder contains no files/,
    );
    await expect(load(root, ["file:///*.md"])).rejects.toThrow(/\*\.md: no file matches it/);
  });

  test("are an error with too many files", async () => {
    const files = Array.from({ length: 1001 }, (_none, index) => [`many/${index}`, ""] as const);
    const root = folderWith(Object.fromEntries(files));
    await expect(load(root, ["file:///many"])).rejects.toThrow(
      /many: it contains more than 1000 files/,
    );
  });

  test("are an error with too many bytes, before all of them are in memory", async () => {
    const large = Buffer.alloc(9_000_000, "x");
    const root = folderWith({ "a/1": large, "a/2": large, "a/3": large, "a/4": large });
    await expect(load(root, ["a"])).rejects.toThrow(
      "Cannot attach a: it contains more than 32 MB.",
    );
  });

  test("together have a limit, and the error names the largest", async () => {
    const root = folderWith({ "a.txt": "x".repeat(3_000_000), "b.txt": "x".repeat(2_000_000) });
    await expect(load(root, ["file:///a.txt", "file:///b.txt"])).rejects.toThrow(
      "The attached texts total 5.0 MB; the limit is 4.0 MB. The largest: a.txt (3.0 MB), b.txt (2.0 MB).",
    );
  });
});

describe("the output of a command", () => {
  test("is attached with its command line, and runs in the root", async () => {
    const root = folderWith({ "a.txt": "" });
    const { attachments } = await load(root, ["cmd:ls -1?description=Files"]);
    expect(attachments).toEqual([{ source: "ls -1", description: "Files", content: "a.txt\n" }]);
  });

  test("says if it fails, and no shell reads it", async () => {
    const { attachments } = await load(folderWith({}), ["cmd:ls '$(touch x); nothing'"]);
    expect(attachments).toMatchObject([
      { content: expect.stringMatching(/^Exit status: [12]\n\nStandard error:\nls: .*touch x/) },
    ]);
  });

  test("is missing if there is no such program", async () => {
    await expect(load(folderWith({}), ["cmd:no-such-program"])).rejects.toThrow(
      /Cannot attach the output of no-such-program: no such program/,
    );
  });

  test("is not read from a program of the workspace, unless the user names that by its path", async () => {
    counters("T-PROG-9");
    const root = folderWith({ ".venv/bin/git": "#!/bin/sh\necho ran >>ran\n" });
    const bin = path.join(root, ".venv", "bin");
    chmodSync(path.join(bin, "git"), 0o755);
    const PATH = `${bin}:${process.env["PATH"]}`;
    const attach = (uri: string, home = path.dirname(root)) =>
      load(root, [uri], { variables: { PATH, HOME: home } });
    await expect(attach("cmd:git diff")).rejects.toThrow(
      /^Cannot attach the output of git diff: your PATH leads to \.venv\/bin\/git, a file of the workspace\. To run it, name it by its path\.$/,
    );
    expect(existsSync(path.join(root, "ran"))).toBe(false);
    await attach("cmd:.venv/bin/git diff");
    await attach("cmd:git diff", root);
    expect(readFileSync(path.join(root, "ran"), "utf8")).toBe("ran\nran\n");
  });
});

test("resources of MCP servers are attached, text as text and bytes by what they are", async () => {
  const asked: string[][] = [];
  const mcpServers: LoadAttachmentsOptions["mcpServers"] = {
    readResource: async (server, uri) => {
      asked.push([server, uri]);
      return [
        { type: "text", text: "intro" },
        { type: "bytes", data: PNG.toString("base64") },
      ];
    },
  };
  const uris = ["mcp+docs+page://intro"];
  const loaded = loadAttachments(uris, { root: ".", mcpServers });
  expect([await loaded, asked]).toEqual([
    [
      { source: "docs: page://intro", content: "intro" },
      {
        source: "docs: page://intro (2)",
        content: expect.objectContaining({ mediaType: "image/png" }),
      },
    ],
    [["docs", "page://intro"]],
  ]);
});

test("a resource of very many parts is refused", async () => {
  counters("T-ATT-2");
  const parts = Array.from({ length: 1001 }, () => ({ type: "text", text: "" }) as const);
  const mcpServers = { readResource: async () => parts };
  await expect(loadAttachments(["mcp+a+b:c"], { root: ".", mcpServers })).rejects.toThrow(
    "Cannot attach b:c: it has more than 1000 parts.",
  );
});

test("nothing more is read once there is too much", async () => {
  counters("T-ATT-2");
  const root = folderWith({ "a/x.txt": "x".repeat(5_000_000), "b/server.pem": "key", "b/y": "y" });
  const notes: string[] = [];
  const onNote = (note: string) => void notes.push(note);
  await expect(load(root, ["file:///a", "file:///b"], { onNote })).rejects.toThrow(/5\.0 MB/);
  expect(notes).toEqual([]);
});

test("one that cannot be read is reported, and the others are attached", async () => {
  const root = folderWith({ "a.txt": "a" });
  const problems: string[] = [];
  const { sources } = await load(root, ["file:///gone.txt", "other:y", "file:///a.txt"], {
    onProblem: ({ code }, uri) => void problems.push(`${uri} ${code}`),
  });
  expect([sources, problems]).toEqual([
    ["a.txt"],
    ["other:y invalid_attachment", "file:///gone.txt attachment_not_found"],
  ]);
});

test.each([
  [[1], "1 document, 1 B"],
  [[999, 1], "2 documents, 1.0 kB"],
  [[14_200], "1 document, 14 kB"],
  [[9960], "1 document, 10 kB"],
  [[999_600], "1 document, 1.0 MB"],
  [[1_500_000, 100], "2 documents, 1.5 MB"],
])("attachments of %j bytes are %s", (sizes, expected) => {
  const attachments = sizes.map((size) => ({ source: "x", content: "x".repeat(size) }));
  expect(describeAttachments(attachments)).toBe(expected);
});
