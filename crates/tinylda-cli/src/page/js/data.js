// The data of the report, as docs/REPORT.md describes it, and constants of the page.

const data = JSON.parse(document.getElementById('data').textContent);
const { topics, words, documents, labels } = data;
const run = data.run || {};
const K = topics.prevalence.length;
const SHOWN = 30; // words in a list
const PERIOD = 5; // passes of tbp after which over-relaxed and plain ones repeat
const $ = id => document.getElementById(id);
const SVG = 'http://www.w3.org/2000/svg';
