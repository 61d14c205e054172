// The theme that was chosen, before anything is shown. The application keeps it under the same name.
{
  const kept = localStorage.getItem("theme");
  if (kept === "light" || kept === "dark") document.documentElement.dataset.theme = kept;
}
