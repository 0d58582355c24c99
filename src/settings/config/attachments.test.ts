import { expect, test } from "vitest";
import { readConfig } from "./any-config.fixture.ts";
import {
  attachmentUri,
  fileUri,
  isHarmlessAttachment,
  namesSecretFile,
  parseAttachment,
  resolveAttachments,
  withAttachments,
  withoutAttachments,
} from "./attachments.ts";
import { mergeConfig } from "./layers.ts";

const configWith = (...attachments: readonly string[]) =>
  readConfig({ conversation: { attachments: [...attachments] } });

test.each([
  ["file:src/a.ts", "src/a.ts", false],
  ["file:/src/a.ts", "src/a.ts", false],
  ["file://src/a.ts", "src/a.ts", false],
  ["file:///src/a.ts", "src/a.ts", false],
  ["file:///**/*.md?exclude=true", "**/*.md", true],
  ["file:///a%20b%25.txt", "a b%.txt", false],
  ["file:///", ".", false],
  ["file:///100%.txt", "100%.txt", false],
])("%s names a path of the workspace", (uri, path, isExcluded) => {
  expect(parseAttachment(uri)).toEqual({ type: "file", path, isExcluded });
});

test.each(["a.md", "a b/ü#?%.md", "src/**/*.{ts,js}", "[id]/page.tsx", "x\\y"])(
  "the path %s reads back from its address, which is a URL",
  (path) => {
    const uri = fileUri(path);
    expect([URL.canParse(uri), parseAttachment(uri)]).toMatchObject([true, { path }]);
  },
);

test.each([
  ["cmd:git diff 'a b' --x=\"y\"", ["git", "diff", "a b", "--x=y"], undefined],
  [
    "cmd:git log --format=%H?description=What%20changed",
    ["git", "log", "--format=%H"],
    "What changed",
  ],
  ["cmd:grep -r what? .", ["grep", "-r", "what?", "."], undefined],
  ["cmd://git?arg=log&arg=-n+1&description=Last", ["git", "log", "-n 1"], "Last"],
  ["cmd://make", ["make"], undefined],
])("%s names a command", (uri, [program, ...args], description) => {
  const expected = { type: "command", program, args, ...(description && { description }) };
  expect(parseAttachment(uri)).toEqual(expected);
});

test.each([
  ["mcp+docs+page://intro", "docs", "page://intro"],
  ["mcp+my-own+server+file:///a", "my-own+server", "file:///a"],
])("%s names a resource of a server", (uri, server, resource) => {
  expect(parseAttachment(uri)).toEqual({ type: "resource", server, uri: resource });
});

test.each([
  ["ftp://a.b/c", /"ftp:"/],
  ["cmd:", /no command/],
  ["cmd:echo 'a", /unclosed quote/],
  ["https://", /not a valid URL/],
  ["https://me:secret@a.b/", /^(?!.*secret).*password/],
  ["mcp:docs", /server and a resource/],
])("%s cannot be attached", (uri, problem) => {
  expect(() => parseAttachment(uri)).toThrow(problem);
});

test("a table has the parts of an address", () => {
  const params = { arg: ["diff", "--cached"], description: "Staged changes" };
  const uri = attachmentUri({ type: "cmd", path: "git", params });
  expect([uri, parseAttachment(uri)]).toEqual([
    "cmd://git?arg=diff&arg=--cached&description=Staged+changes",
    { type: "command", program: "git", args: ["diff", "--cached"], description: "Staged changes" },
  ]);
});

test("an attachment counts once, in whatever notation", () => {
  const config = configWith("a.md", "file:///a.md", "https://a.b/");
  expect(resolveAttachments(config)).toEqual(["file:///a.md", "https://a.b/"]);
});

test("attachments are added and removed one by one", () => {
  const config = configWith("file:///a", "file:///b");
  const more = withAttachments(config, ["file:///b", "file:///c"]);
  const less = withoutAttachments(more, ["file:///a"]);
  expect([resolveAttachments(more), resolveAttachments(less)]).toEqual([
    ["file:///a", "file:///b", "file:///c"],
    ["file:///b", "file:///c"],
  ]);
  expect([withAttachments(config, ["file:///a"]), withoutAttachments(config, ["x"])]).toEqual([
    config,
    config,
  ]);
});

test("a removed attachment stays removed over the config that has it", () => {
  const config = configWith("file:///a");
  const removed = withoutAttachments(config, ["file:///a"]);
  expect(resolveAttachments(mergeConfig(config, removed))).toEqual([]);
});

test.each([
  [".env", true],
  ["config/.env.production", true],
  [".env.example", false],
  ["certs/server.pem", true],
  [".ssh/config", true],
  ["id_ed25519", true],
  [".env-local", true],
  ["deploy/prod.env", true],
  ["/home/me/.git-credentials", true],
  ["/home/me/.bash_history", true],
  ["/home/me/.config/gh/hosts.yml", true],
  ["/proc/self/environ", true],
  [".env-example", false],
  ["docs/proc/environ", false],
  ["src/keys.ts", false],
  ["environment.md", false],
])("%s may hold secrets: %s", (path, isSecret) => {
  expect(namesSecretFile(path)).toBe(isSecret);
});

test.each([
  ["file:///src", true],
  ["file:///.env", false],
  ["https://a.b", false],
  ["cmd:ls", false],
  ["mcp+a+b:c", false],
  ["other:x", false],
])("a workspace may attach %s by itself: %s", (uri, isHarmless) => {
  expect(isHarmlessAttachment(uri)).toBe(isHarmless);
});
