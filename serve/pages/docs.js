// The API's page: Swagger UI over /openapi.json.
"use strict";

const root = document.documentElement;
const followTheme = () => root.classList.toggle("dark-mode", root.dataset.theme === "dark");
addEventListener("themechange", followTheme);
followTheme();

SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#operations",
  deepLinking: true,
  displayRequestDuration: true,
  // Every operation is a GET without side effects: its form needs no button that opens it.
  tryItOutEnabled: true,
  supportedSubmitMethods: ["get"],
  // Colouring a snapshot of several MB would stop the browser for seconds.
  syntaxHighlight: { activated: false },
  defaultModelsExpandDepth: -1,
  // A validator on another host would be sent the address of this one.
  validatorUrl: null,
});
