/** `jp config schema`. */
import { configJsonSchema } from "../../../config/index.ts";
import type { Call } from "../../define.ts";

export async function printSchema({ context }: Call<object>): Promise<void> {
  context.output.print(JSON.stringify(await configJsonSchema(), null, 2));
}
