import { describe, expect, test } from "vitest";
import { bracketed } from "./markdown-stream.fixture.ts";
import { createLineHighlighter, prepareLanguage } from "./highlight.ts";
import { plain } from "./style.ts";

async function highlightLines(language: string, lines: readonly string[]) {
  await prepareLanguage(language);
  const highlight = createLineHighlighter(language, bracketed);
  return lines.map((line) => highlight(line));
}

describe("highlighting", () => {
  test("colours lines, and remembers what is open between them", async () => {
    expect(await highlightLines("python", ["x = '''a", "b", "c''' + 1", "# d"])).toEqual([
      "x = <green>'''a</>",
      "<green>b</>",
      "<green>c'''</> + <magenta>1</>",
      "<dim># d</>",
    ]);
  });

  test("remembers how a very long comment started", async () => {
    const lines = ["/* begin", ...Array.from({ length: 200 }, () => "let it go on"), "end */ 1"];
    const shown = await highlightLines("rs", lines);
    expect(new Set(shown)).toEqual(
      new Set(["<dim>/* begin</>", "<dim>let it go on</>", "<dim>end */</> <magenta>1</>"]),
    );
  });

  test("colours an indented line as part of what it is indented under", async () => {
    const lines = ["[a]", "b = [", '  "c",', "]", "d = 1"];
    expect(await highlightLines("toml", lines)).toEqual([
      "<bold>[a]</>",
      "<cyan>b</> = [",
      '  <green>"c"</>,',
      "]",
      "<cyan>d</> = <magenta>1</>",
    ]);
  });

  test("keeps characters that HTML would escape", async () => {
    expect(await highlightLines("js", [`a < b && c > "d'&lt;"`])).toEqual([
      `a < b && c > <green>"d'&lt;"</>`,
    ]);
  });

  test("leaves very long lines alone", async () => {
    const line = "1 ".repeat(2000);
    expect(await highlightLines("js", [line])).toEqual([line]);
  });

  test.each(["", "nonsense", "constructor", "__proto__"])(
    "does not know the language %j",
    (name) => {
      expect(prepareLanguage(name)).toBeUndefined();
      expect(createLineHighlighter(name, bracketed)("let a = 1")).toBe("let a = 1");
    },
  );

  test("loads a language once, and changes nothing without colours", async () => {
    await prepareLanguage("golang");
    expect(prepareLanguage("go")).toBeUndefined();
    expect(createLineHighlighter("go", plain)("func a() {}")).toBe("func a() {}");
  });

  test.each(
    "bash c clojure cpp csharp css dart diff dockerfile elixir go graphql haskell ini java javascript json kotlin lua makefile markdown nix perl php powershell protobuf python r ruby rust scala scss shell sql swift typescript xml yaml sh js ts py rb rs yml html toml c++ c# jsx tsx".split(
      " ",
    ),
  )("can load %s", async (name) => {
    await prepareLanguage(name);
    expect(prepareLanguage(name)).toBeUndefined();
    expect(createLineHighlighter(name, plain)("a <b> 'c' 1")).toBe("a <b> 'c' 1");
  });
});
