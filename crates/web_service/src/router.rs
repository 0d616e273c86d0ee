//! The router, from the table of routes.

use std::sync::Arc;

use axum::Router;
use axum::extract::{RawPathParams, Request, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::{MethodFilter, MethodRouter, any, on};

use crate::agents;
use crate::app::WebApp;
use crate::route::Route;

/// A router that answers every request, those without a route too.
pub(crate) fn router(app: Arc<WebApp>, routes: Vec<Route>) -> Router {
    let mut router = Router::new();
    for route in routes {
        let Ok(method) = MethodFilter::try_from(route.method.clone()) else { continue };
        let path = route.path;
        router = router.route(path, answering(method, Arc::new(route)));
    }
    for path in agents::PATHS {
        router = router.route(path, any(agents::answer));
    }
    let missing = |State(app): State<Arc<WebApp>>, request: Request| async move {
        app.no_route(&request.into_parts().0, StatusCode::NOT_FOUND).await
    };
    let other_method = |State(app): State<Arc<WebApp>>, request: Request| async move {
        app.no_route(&request.into_parts().0, StatusCode::METHOD_NOT_ALLOWED).await
    };
    router.fallback(missing).method_not_allowed_fallback(other_method).with_state(app)
}

fn answering(method: MethodFilter, route: Arc<Route>) -> MethodRouter<Arc<WebApp>> {
    on(
        method,
        move |State(app): State<Arc<WebApp>>, path: RawPathParams, request: Request| async move {
            let path = path.iter().map(|(name, value)| (name.to_owned(), value.to_owned()));
            let path = path.collect();
            let (parts, body) = request.into_parts();
            let response: Response = app.answer(&route, parts, path, body).await;
            response
        },
    )
}
