// Small helps on top of pages that work without them: hits while one types, and a slider for moments.

const WAIT = 120; // milliseconds without a key press

function searching(form, hits) {
  let timer = 0;
  let asking = null;

  const ask = async () => {
    asking?.abort();
    asking = new AbortController();
    const words = new URLSearchParams([...new FormData(form)].filter(([, value]) => value !== ""));
    hits.setAttribute("aria-busy", "true");
    try {
      const answer = await fetch(`${form.dataset.hits}?${words}`, { signal: asking.signal, redirect: "error" });
      if (answer.status === 401) {
        location.reload(); // the page itself leads to the log-in
        return;
      }
      // The fragment is made and escaped by the server; its policy runs no script that stands in it.
      hits.innerHTML = await answer.text();
      history.replaceState(null, "", `${location.pathname}?${words}`);
    } catch (error) {
      if (error.name === "AbortError") return;
      const told = document.createElement("p");
      told.setAttribute("role", "alert");
      told.textContent = "The server cannot be reached; the hits are of an earlier question.";
      hits.prepend(told);
    }
    hits.setAttribute("aria-busy", "false");
  };

  form.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(ask, WAIT);
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    clearTimeout(timer);
    ask();
  });
}

function sliding(form, label) {
  const slider = label.querySelector("input");
  const field = form.elements.namedItem("valid_at");
  label.hidden = false;
  slider.addEventListener("input", () => {
    field.value = new Date(Number(slider.value) * 1000).toISOString().slice(0, 19);
  });
  slider.addEventListener("change", () => form.requestSubmit());
}

const search = document.getElementById("search");
if (search) searching(search, document.getElementById("hits"));
const slide = document.getElementById("slide");
if (slide) sliding(slide.closest("form"), slide);
