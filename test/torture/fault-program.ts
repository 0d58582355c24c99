/** Loaded into a command before its own code: injects the fault in `TORTURE_FAULT`. */
import { FaultPoints } from "./fault-points.ts";
import type { Fault } from "./plan.ts";

await FaultPoints.install(JSON.parse(process.env["TORTURE_FAULT"] ?? "") as Fault);
