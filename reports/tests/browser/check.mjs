// Opens countersign's pages in Chromium, as a person would: on a desk, at night, on a phone, on paper.
//
// node check.mjs PICTURES PAGE.html ...
//
// A page passes if it asks for nothing over a network, writes no error to the console, never scrolls sideways, shows where
// the Tab key has gone, and axe finds no serious fault. Pictures and a PDF of each are left under PICTURES. Of a large page
// axe sees the page with every section cut to its first elements: it needs minutes for the whole.

import { mkdirSync, readFileSync, statSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { chromium } from "playwright-core";

const AXE = readFileSync(new URL("node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const LARGE = 5_000_000;
const LOOKS = [
  { name: "desktop", width: 1280, height: 900, colorScheme: "light" },
  { name: "dark", width: 1280, height: 900, colorScheme: "dark" },
  { name: "narrow", width: 390, height: 844, colorScheme: "light" },
];
const TABS = 12;

const [pictures, ...pages] = process.argv.slice(2);
if (!pictures || pages.length === 0) {
  console.error("usage: node check.mjs PICTURES PAGE.html ...");
  process.exit(2);
}
mkdirSync(pictures, { recursive: true });
const executablePath = process.env.CHROMIUM ?? "/usr/bin/chromium";
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let failed = 0;
for (const path of pages) {
  const faults = [];
  for (const look of LOOKS) {
    faults.push(...(await check(path, look)).map((fault) => `${look.name}: ${fault}`));
  }
  const { size } = statSync(path);
  console.log(`${faults.length === 0 ? "ok    " : "FAILED"} ${path} (${(size / 1e6).toFixed(1)} MB)`);
  for (const fault of faults) console.log(`       ${fault}`);
  failed += faults.length;
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);

/** The faults of the page at `path` in one look, in words. */
async function check(path, look) {
  const faults = [];
  const { name, width, height, colorScheme } = look;
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
  context.setDefaultTimeout(300_000);
  const page = await context.newPage();
  page.on("console", (message) => message.type() === "error" && faults.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => faults.push(`script: ${error.message}`));
  page.on("request", (request) => {
    if (!/^(file|data):/.test(request.url())) faults.push(`asks for ${request.url()}`);
  });
  const started = performance.now();
  await page.goto(pathToFileURL(resolve(path)).href);
  const loaded = (performance.now() - started) / 1000;
  if (loaded > 20) faults.push(`takes ${loaded.toFixed(1)} s to open`);
  const large = statSync(path).size > LARGE;
  if (!large) await page.evaluate(() => document.querySelectorAll("details").forEach((one) => (one.open = true)));

  const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
  if (wide > 0) faults.push(`scrolls ${wide} px sideways`);
  faults.push(...(await unfocused(page)));

  const file = join(pictures, `${basename(path, ".html")}-${name}`);
  await page.screenshot({ path: `${file}.png`, fullPage: false });
  if (!large) await page.screenshot({ path: `${file}-whole.png`, fullPage: true });
  if (name === "desktop" && !large) await page.pdf({ path: `${file}.pdf`, format: "A4" });

  if (large) await page.evaluate(shorten);
  await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  for (const { id, impact, help, nodes } of violations) {
    if (impact !== "serious" && impact !== "critical") continue;
    faults.push(`axe, ${impact}: ${help} (${id}), ${nodes.length} times, as at ${nodes[0].target.join(" ")}`);
  }
  await context.close();
  return faults;
}

/** Elements that the Tab key reaches without a mark to be seen. */
async function unfocused(page) {
  const faults = [];
  for (let tab = 0; tab < TABS; tab++) {
    await page.keyboard.press("Tab");
    const unseen = await page.evaluate(() => {
      const element = document.activeElement;
      if (!element || element === document.body) return null;
      const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(element);
      const seen = (outlineStyle !== "none" && outlineWidth !== "0px") || boxShadow !== "none";
      return seen ? null : element.outerHTML.slice(0, 80);
    });
    if (unseen) faults.push(`no focus to be seen on ${unseen}`);
  }
  return faults;
}

/** Leaves the first 20 children of every element: run within the page. */
function shorten() {
  for (const element of document.querySelectorAll("main *")) {
    while (element.children.length > 20) element.lastElementChild.remove();
  }
}
