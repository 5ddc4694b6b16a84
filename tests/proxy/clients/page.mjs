// The live page in a real browser: node page.mjs URL CHROMIUM SCREENSHOT-PREFIX. Prints what it found.
import { chromium } from "playwright-core";
const [url, executablePath, prefix] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const wide = { width: 1200, height: 900 };
const looks = { light: { viewport: wide }, dark: { viewport: wide, colorScheme: "dark" },
                phone: { viewport: { width: 390, height: 800 }, colorScheme: "dark" } };
for (const [name, options] of Object.entries(looks)) {
  const page = await browser.newPage(options);
  const errors = [], asked = new Set();
  page.on("console", (m) => m.type() === "error" && errors.push(m.text()));
  page.on("pageerror", (e) => errors.push(String(e)));
  page.on("request", (r) => asked.add(new URL(r.url()).pathname));
  await page.goto(url);
  await page.waitForSelector("#recent td:nth-child(3)");
  await page.waitForTimeout(200);
  const found = await page.evaluate(() => ({
    overflow: document.documentElement.scrollWidth - innerWidth,
    bars: document.querySelectorAll("rect").length,
    rows: document.querySelectorAll("#recent tr").length,
    background: getComputedStyle(document.body).backgroundColor,
    cards: document.querySelector("#cards").innerText,
  }));
  if (prefix) await page.screenshot({ path: `${prefix}-${name}.png` });
  await page.locator("#recent tr", { hasText: "longer than the cap" }).first().locator("td").first().click();
  await page.waitForSelector("#texts[open] pre");
  found.texts = await page.locator("#texts h3").count();
  if (prefix && name === "light") await page.screenshot({ path: `${prefix}-texts.png` });
  console.log(JSON.stringify({ name, errors, asked: [...asked], ...found }));
}
await browser.close();
