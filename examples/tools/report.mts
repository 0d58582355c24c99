/** A tool for jp that asks several questions as one form. Its parameters are a zod schema. */
import { serveTool } from "jp-ts/serve-tool";
import { defineTool, selectQuestion, textQuestion } from "jp-ts/tool";
import { z } from "zod";

const questions = {
  title: textQuestion("title", "What happened?", { allowsNote: true }),
  severity: selectQuestion("severity", "How bad is it?", { options: ["low", "high"] }),
};

const report = defineTool({
  name: "report",
  description: "Reports a problem with a service.",
  parameters: z.object({ service: z.string(), copies: z.number().default(1) }),
  questions,
  async run({ service, copies }, { askAll, notes }) {
    const { title, severity } = await askAll(questions);
    const note = notes["title"] ?? "no details";
    const sign = severity === "high" ? "!" : "";
    return `${service}${sign} ${title} (${note}), copies: ${copies}`;
  },
});

await serveTool(report);
