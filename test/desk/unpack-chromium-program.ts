/** Unpacks Chromium into the temporary folder of this process, and prints where it is. */
import chromium from "@sparticuz/chromium";

console.log(await chromium.executablePath());
